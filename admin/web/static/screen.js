// The page shows a browser on the server as pictures, and sends it what the person does with mouse and keyboard.
const screen = document.getElementById('screen');
const canvas = screen.querySelector('canvas');
const keys = screen.querySelector('.keys');
const stage = screen.querySelector('.stage');
const note = screen.querySelector('.note');
const address = document.getElementById('address');
const dialog = screen.querySelector('dialog');
const pen = canvas.getContext('2d', {alpha: false});
const MOVES_EVERY = 40;
let socket, size = {w: 1280, h: 800, top: 0}, move = null, wheel = null, lastMove = 0, clicks = {at: 0, count: 0, x: 0, y: 0};
let active = null, isFirst = Boolean(screen.dataset.url);
const lastUrlKey = `screen ${location.pathname}`;
let lastUrl = null; // the last page, which a browser that starts again opens
let composing = false, tries = 0, isOver = false, zoom = 1, isPhone = false, drawing = 0;

const send = message => { if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); };
const say = text => { note.textContent = text; };

function keep(url) {
  lastUrl = url;
  try { sessionStorage.setItem(lastUrlKey, url); } catch { /* storage is closed or full; this page loaded again knows no URL */ }
}
function kept() {
  if (lastUrl) return lastUrl;
  try { return sessionStorage.getItem(lastUrlKey); } catch { return null; }
}

function connect() {
  const url = new URL(screen.dataset.socket, location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  socket = new WebSocket(url);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    tries = 0;
    say('');
    const url = (isFirst && screen.dataset.url) || kept() || 'about:blank';
    keep(url);
    send({t: 'begin', url, open: isFirst});
    if (isFirst) history.replaceState(history.state, '', location.pathname); // this page loaded again opens nothing
    isFirst = false;
    fit();
    if (isPhone) send({t: 'phone', on: true});
  };
  socket.onmessage = event => typeof event.data === 'string' ? told(JSON.parse(event.data)) : given(event.data);
  socket.onclose = event => {
    if (isOver) return;
    if (event.code === 4403 || ++tries > 30) { say('The connection has ended. Reload this page.'); return; }
    say('The connection is lost, and is opened again. The browser goes on.');
    setTimeout(connect, Math.min(5000, 500 * tries));
  };
}

function given(buffer) {
  const bytes = new DataView(buffer), kind = String.fromCharCode(bytes.getUint8(0)), length = bytes.getUint16(1);
  const facts = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 3, length)));
  const content = new Blob([new Uint8Array(buffer, 3 + length)], {type: kind === 'p' ? 'image/jpeg' : ''});
  if (kind === 'p') draw(facts, content);
  else {
    const link = Object.assign(document.createElement('a'), {href: URL.createObjectURL(content), download: facts.name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    say(`${facts.name} was recorded and saved.`);
  }
}

async function draw(facts, picture) {
  const turn = ++drawing;
  try {
    const bitmap = await createImageBitmap(picture);
    if (turn === drawing) {
      if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
        canvas.width = bitmap.width;
        canvas.height = bitmap.height;
      }
      size = facts;
      pen.drawImage(bitmap, 0, 0);
      canvas.dataset.pictures = turn;
    }
    bitmap.close();
  } finally { send({t: 'shown'}); }
}

function told(message) {
  switch (message.t) {
    case 'tabs': showTabs(message.tabs); break;
    case 'say': say(message.text); break;
    case 'over': isOver = true; say(message.text); break;
    case 'clip': navigator.clipboard?.writeText(message.text).catch(() => say('The clipboard of your browser is closed.')); break;
    case 'dialog': ask(message); break;
    case 'picker': pick(message); break;
    case 'files': chooseFiles(message); break;
    case 'login': askLogin(message); break;
    case 'autopilot': {
      const button = screen.querySelector('[data-do="autopilot"], [data-do="stop-autopilot"]');
      button.dataset.do = message.on ? 'stop-autopilot' : 'autopilot';
      button.textContent = message.on ? 'Stop the autopilot' : 'Autopilot';
      if (!message.on) say('The autopilot has ended.');
      else {
        const last = message.done?.at(-1);
        say(last ? `The autopilot works. Done: ${last.name}, ${last.steps} steps, ${last.requests} requests.` : 'The autopilot works.');
      }
    }
  }
}

function showTabs(tabs) {
  screen.querySelector('.tabs').replaceChildren(...tabs.map(tab => {
    const box = Object.assign(document.createElement('span'), {className: 'tab'});
    const name = tab.title || tab.url || 'New tab';
    const open = Object.assign(document.createElement('button'), {type: 'button', textContent: name, title: tab.url});
    open.setAttribute('aria-pressed', tab.on);
    open.onclick = () => { send({t: 'tab', number: tab.number}); keys.focus(); };
    const close = Object.assign(document.createElement('button'), {type: 'button', textContent: '×'});
    close.setAttribute('aria-label', `Close ${name}`);
    close.onclick = () => send({t: 'close-tab', number: tab.number});
    box.append(open, close);
    return box;
  }));
  active = tabs.find(tab => tab.on) ?? null;
  if (/^https?:/.test(active?.url)) keep(active.url);
  if (active && document.activeElement !== address) address.value = active.url === 'about:blank' ? '' : active.url;
}

// ---- Mouse ----

const state = event => ({alt: event.altKey, ctrl: event.ctrlKey, meta: event.metaKey, shift: event.shiftKey});
function place(event) {
  const box = canvas.getBoundingClientRect();
  return {x: (event.clientX - box.left) / box.width * size.w, y: (event.clientY - box.top) / box.height * size.h - size.top};
}
function flush() {
  if (move) { send(move); move = null; lastMove = performance.now(); }
  if (wheel) { send(wheel); wheel = null; }
}
setInterval(flush, MOVES_EVERY);

canvas.addEventListener('pointerdown', event => {
  event.preventDefault();
  closePicker();
  keys.focus({preventScroll: true});
  canvas.setPointerCapture(event.pointerId);
  flush();
  const {x, y} = place(event), isSame = Math.hypot(x - clicks.x, y - clicks.y) < 5;
  clicks = {at: event.timeStamp, count: isSame && event.timeStamp - clicks.at < 500 ? clicks.count % 3 + 1 : 1, x, y};
  send({t: 'mouse', kind: 'down', x, y, button: event.button, buttons: event.buttons, clicks: clicks.count, ...state(event)});
});
canvas.addEventListener('pointerup', event => {
  flush();
  send({t: 'mouse', kind: 'up', ...place(event), button: event.button, buttons: event.buttons, clicks: clicks.count, ...state(event)});
});
canvas.addEventListener('pointermove', event => {
  move = {t: 'mouse', kind: 'move', ...place(event), button: event.buttons & 1 ? 0 : -1, buttons: event.buttons, ...state(event)};
  if (performance.now() - lastMove >= MOVES_EVERY) flush();
});
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  const factor = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? size.h : 1;
  const [dx, dy] = [event.deltaX * factor, event.deltaY * factor];
  wheel = {t: 'mouse', kind: 'wheel', ...place(event), dx: dx + (wheel?.dx ?? 0), dy: dy + (wheel?.dy ?? 0), ...state(event)};
}, {passive: false});
canvas.addEventListener('contextmenu', event => event.preventDefault());

// ---- Keyboard: printable keys and commands are sent as keys, all else as the text that the keyboard made of it ----

const isOurs = event => ['F6', 'F9', 'F11'].includes(event.key) || (event.key === 'Escape' && document.fullscreenElement);
function key(event, kind) {
  if (event.isComposing || composing || ['Dead', 'Process', 'Unidentified'].includes(event.key) || isOurs(event)) return;
  const isPaste = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'v';
  if (isPaste) return;  // the event `paste` has the text
  event.preventDefault();
  send({t: 'key', kind, key: event.key, code: event.code, vk: event.keyCode, location: event.location,
    repeat: event.repeat, altgr: event.getModifierState('AltGraph'), ...state(event)});
}
keys.addEventListener('keydown', event => key(event, 'down'));
keys.addEventListener('keyup', event => key(event, 'up'));
keys.addEventListener('compositionstart', () => { composing = true; });
keys.addEventListener('compositionupdate', event => send({t: 'compose', text: event.data}));
keys.addEventListener('compositionend', event => {
  composing = false;
  keys.value = '';
  send(event.data ? {t: 'text', text: event.data} : {t: 'compose', text: ''});
});
keys.addEventListener('input', event => {
  if (composing || event.isComposing || event.inputType === 'insertCompositionText') return;
  if (event.data) send({t: 'text', text: event.data});
  keys.value = '';
});
keys.addEventListener('paste', event => {
  event.preventDefault();
  const text = event.clipboardData.getData('text/plain');
  if (text) send({t: 'text', text});
});

// ---- Windows that a picture does not show: choices, dialogs, files, logins ----

function closePicker() { stage.querySelector('.picker')?.remove(); }
function pick(message) {
  closePicker();
  const box = canvas.getBoundingClientRect(), field = document.createElement(message.kind === 'select' ? 'select' : 'input');
  field.className = 'picker';
  field.setAttribute('aria-label', message.kind === 'select' ? 'Choose' : message.kind);
  if (message.kind === 'select') {
    field.size = Math.min(12, Math.max(2, message.options.length));
    message.options.forEach((each, at) => {
      const option = new Option(each.text, at, at === message.value, at === message.value);
      option.disabled = each.isOff;
      field.add(option);
    });
  } else Object.assign(field, {type: message.kind, min: message.min, max: message.max, value: message.value});
  field.style.left = `${message.x / size.w * box.width}px`;
  field.style.top = `${(message.y + message.height) / size.h * box.height}px`;
  const done = () => { send({t: 'pick', value: field.value}); closePicker(); keys.focus({preventScroll: true}); };
  if (message.kind === 'select') field.addEventListener('click', event => { if (event.target.localName === 'option') done(); });
  field.addEventListener('change', () => { if (message.kind !== 'select') done(); });
  field.addEventListener('keydown', event => {
    if (event.key === 'Enter') { event.preventDefault(); done(); }
    if (event.key === 'Escape') { closePicker(); keys.focus({preventScroll: true}); }
  });
  stage.append(field);
  field.focus();
  try { field.showPicker?.(); } catch { /* a browser without pickers lets people type */ }
}

function form(lines, buttons, finish) {
  const made = document.createElement('form');
  made.method = 'dialog';
  made.append(...lines);
  for (const [text, value] of buttons)
    made.append(Object.assign(document.createElement('button'), {textContent: text, value, className: value ? '' : 'secondary'}));
  const article = document.createElement('article');
  article.append(made);
  dialog.replaceChildren(article);
  dialog.setAttribute('aria-label', lines[0].textContent);
  dialog.onclose = () => { finish(dialog.returnValue === 'yes'); keys.focus({preventScroll: true}); };
  dialog.returnValue = '';
  dialog.showModal();
}
const line = text => Object.assign(document.createElement('p'), {textContent: text});
function labelled(text, type, value = '') {
  const label = Object.assign(document.createElement('label'), {textContent: text});
  const field = Object.assign(document.createElement('input'), {type, value, autocomplete: 'off'});
  label.append(field);
  return [label, field];
}
function ask(message) {
  const lines = [line(message.text)];
  let field = null;
  if (message.kind === 'prompt') { const [label, made] = labelled('Answer', 'text', message.value); lines.push(label); field = made; }
  const buttons = message.kind === 'alert' ? [['OK', 'yes']] : [['OK', 'yes'], ['Cancel', '']];
  form(lines, buttons, ok => send({t: 'answer', ok: ok || message.kind === 'alert', text: field?.value ?? ''}));
}
function askLogin(message) {
  const [user, name] = labelled('User', 'text'), [secret, password] = labelled('Password', 'password');
  form([line(`${message.origin} asks for a login. It is not recorded.`), user, secret], [['Log in', 'yes'], ['Cancel', '']],
    ok => { if (ok) send({t: 'login', user: name.value, password: password.value}); });
}
function saveLogin() {
  const [label, name] = labelled('Name of the login', 'text');
  form([line('Cookies and storage of this browser are kept encrypted. Crawls can use them.'), label],
    [['Save', 'yes'], ['Cancel', '']], ok => { if (ok) send({t: 'save-login', name: name.value}); });
}
function writeNote() {
  const url = active?.url.startsWith('http') ? active.url : '';
  const label = Object.assign(document.createElement('label'), {textContent: 'Note'});
  const field = Object.assign(document.createElement('textarea'), {rows: 4, maxLength: 10_000});
  label.append(field);
  form([line(url ? `About ${url}` : 'About the session'), label], [['Keep', 'yes'], ['Cancel', '']], async ok => {
    if (!ok) return;
    const body = new URLSearchParams({note: field.value, url});
    const headers = {'X-CSRFToken': screen.dataset.token, Accept: 'text/plain'};
    try {
      const answer = await fetch(screen.dataset.notes, {method: 'POST', body, headers});
      say(answer.ok || answer.status === 422 ? await answer.text() : `The note was not kept: status ${answer.status}.`);
    } catch { say('The note was not kept: the site does not answer.'); }
  });
}
function chooseFiles(message) {
  const [label, field] = labelled(message.many ? 'Files for the page' : 'File for the page', 'file');
  field.multiple = message.many;
  form([label], [['Give to the page', 'yes'], ['Cancel', '']], async ok => {
    const files = [];
    for (const file of ok ? field.files : []) {
      const data = await new Promise(resolve => {
        const reader = new FileReader();
        reader.onload = () => resolve(String(reader.result).split(',')[1] ?? '');
        reader.readAsDataURL(file);
      });
      files.push({name: file.name, type: file.type, data});
    }
    send({t: 'files', files});
  });
}

// ---- Bar ----

screen.querySelector('form.bar').addEventListener('submit', event => {
  event.preventDefault();
  send({t: 'go', url: address.value});
  keys.focus({preventScroll: true});
});
screen.addEventListener('click', event => {
  const what = event.target.dataset?.do;
  if (what === 'full-screen') stage.requestFullscreen();
  else if (what === 'save-login') saveLogin();
  else if (what === 'note') writeNote();
  else if (what) { send({t: what}); keys.focus({preventScroll: true}); }
});
document.addEventListener('keydown', event => {
  if (event.key !== 'F9' || event.repeat || dialog.open) return;
  event.preventDefault();
  writeNote();
});
document.getElementById('zoom').addEventListener('change', event => { zoom = Number(event.target.value); fit(); });
document.getElementById('phone').addEventListener('change', event => {
  isPhone = event.target.checked;
  stage.style.maxWidth = isPhone ? '430px' : '';
  send({t: 'phone', on: isPhone});
});
function fit() {
  const width = Math.round(stage.clientWidth) || 1280;
  send({t: 'size', width, height: Math.round(Math.max(400, Math.min(width * 0.65, innerHeight * 0.85))), zoom});
}
let fitting;
new ResizeObserver(() => { clearTimeout(fitting); fitting = setTimeout(() => { if (!isPhone) fit(); }, 300); }).observe(stage);
connect();

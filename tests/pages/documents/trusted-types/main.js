b.onclick = () => { const image = new Image(); image.onload = () => { document.documentElement.dataset.result = 'pass';
}; image.src = '119x10-more.png'; document.body.append(image); };

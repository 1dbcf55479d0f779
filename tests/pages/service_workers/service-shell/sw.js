addEventListener('install', () => skipWaiting()); addEventListener('activate', e => e.waitUntil(clients.claim()));
addEventListener('install', e => e.waitUntil(caches.open('s').then(c => c.add('shell.html'))));
addEventListener('fetch', e => { if (e.request.mode === 'navigate' && e.request.url.includes('/app/')) e.respondWith(caches.match('shell.html'));
});

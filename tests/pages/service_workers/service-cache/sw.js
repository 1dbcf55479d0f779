addEventListener('install', event => { skipWaiting();
event.waitUntil(caches.open('v1').then(cache => cache.addAll(['cached.txt', '50x10-precached.png']))); });
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => { const path = new URL(event.request.url).pathname;
if (path.endsWith('made.txt')) event.respondWith(new Response('made by the worker'));
else if (path.endsWith('.txt') || path.endsWith('.png')) event.respondWith((async () => (await caches.match(event.request)) || (await fetch(event.request)))());
});

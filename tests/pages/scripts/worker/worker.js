importScripts('helper.js'); tell();

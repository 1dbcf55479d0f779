import './second.js';

import {word} from 'leaf'; export const old = word;

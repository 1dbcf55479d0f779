export const word = 'old';

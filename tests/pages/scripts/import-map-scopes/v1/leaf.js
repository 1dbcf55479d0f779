export const word = 'new';

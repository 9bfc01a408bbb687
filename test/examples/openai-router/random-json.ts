import type { Random } from '../../property/random.js';

const NAMES = [
  'role',
  'content',
  'type',
  'text',
  'image_url',
  'toString',
  '__proto__',
  'constructor',
  'toJSON',
  'x',
];

/** Any value that JSON can hold, with the names of fields, and of traps, as keys and texts. */
export function randomJson(random: Random, depth = 4): unknown {
  const inner = () => randomJson(random, depth - 1);
  const many = () => Array.from({ length: random.below(4) });
  switch (random.below(depth > 0 ? 10 : 8)) {
    case 0:
      return null;
    case 1:
      return random.oneIn(2);
    case 2:
      return random.oneOf([0, -0, 1, -1, 0.5, 1e308, 2 ** 32 - 1, 2 ** 32, 2 ** 53]);
    case 3:
      return random.below(1000);
    case 4:
      return random.oneOf(['', 'user', 'assistant', 'tool', ...NAMES]);
    case 5:
      return randomText(random, 20);
    case 6:
      return 'long '.repeat(random.below(200));
    case 7:
      return [];
    case 8:
      return many().map(inner);
    default:
      // As JSON.parse does, which makes `__proto__` an ordinary field.
      return JSON.parse(JSON.stringify(Object.fromEntries(many().map(() => [random.oneOf(NAMES), inner()]))));
  }
}

const SNIPPETS = [
  '<|im_start|>',
  '<|im_end|>\n',
  '<|endoftext|>',
  ' the',
  '\n\n',
  '\r\n',
  '\ud800',
  '\ufeff',
  '  ',
];

/** Text of words, code points of any kind, and what looks like special tokens. */
export function randomText(random: Random, pieces: number): string {
  return Array.from({ length: random.below(pieces + 1) }, () => {
    switch (random.below(4)) {
      case 0:
        return String.fromCodePoint(random.below(0x11_0000));
      case 1:
        return random.oneOf(SNIPPETS);
      default:
        return String.fromCharCode(random.between(32, 126));
    }
  }).join('');
}

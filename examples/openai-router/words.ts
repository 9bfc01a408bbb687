/** Frequent ones: in most vocabularies they are one token each, alone and behind a space. */
const WORDS = (
  'the of and to in is that for it as was with be by on not but at are this have from or an which one all would ' +
  'their we has when more if out so up what about than into them can only other time new some could these two may ' +
  'first then do any like now over such our even most made after also many before through back where much way well ' +
  'down long each just state those people too how good make world still see own work here get between both life ' +
  'under never day same another while last great old year off come since against go right take three'
).split(' ');

/** Words without end, the same for the same seed. */
export function wordSource(seed: number): () => string {
  const next = randomNumbers(seed);
  return () => WORDS[Math.floor(next() * WORDS.length)]!;
}

/** Numbers from 0 to below 1: a linear congruential generator, of which the high bits are good enough. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** FNV-1a, of bytes or of larger numbers. */
export function seedOf(numbers: Iterable<number>): number {
  let hash = 0x811c9dc5;
  for (const number of numbers) hash = Math.imul(hash ^ number, 0x0100_0193);
  return hash >>> 0;
}

import { describe, expect, test } from 'vitest';
import { hasCooledDown, migrationTarget } from '../../src/routing/migration.js';

const anywhere = () => true;

function target(
  pending: number[],
  home: number,
  hotTokens: number,
  fits: (place: number) => boolean = anywhere,
) {
  return migrationTarget(Float64Array.from(pending), pending.length, home, hotTokens, fits);
}

describe('a session', () => {
  test('stays while its home is not above hotTokens, however idle others are', () => {
    expect(target([1000, 0], 0, 1000)).toBe(-1);
    expect(target([1001, 0], 0, 1000)).toBe(1);
  });

  test('moves to the worker with least pending prefill', () => {
    expect(target([500, 9000, 300, 400], 1, 1000)).toBe(2);
  });

  test('moves to the first of several with the same', () => {
    expect(target([9000, 700, 300, 300], 0, 1000)).toBe(2);
  });

  test('moves only to a worker that fits it', () => {
    expect(target([9000, 100, 200], 0, 1000, (place) => place !== 1)).toBe(2);
    expect(target([9000, 100, 200], 0, 1000, (place) => place === 0)).toBe(-1);
  });

  test('stays when everybody has as much to do', () => {
    expect(target([9000, 9000, 9500], 0, 1000)).toBe(-1);
  });

  test('moves to a worker that is hot itself, if it is less so', () => {
    expect(target([9000, 8999], 0, 1000)).toBe(1);
  });

  test('stays when it has no home here, or is alone with it', () => {
    expect(target([9000, 0], -1, 1000)).toBe(-1);
    expect(target([9000], 0, 1000)).toBe(-1);
  });

  test('moves to none of the places beyond the candidates', () => {
    expect(migrationTarget(Float64Array.of(9000, 5000, 0), 2, 0, 1000, anywhere)).toBe(1);
  });

  test('asks whether it fits only where it would be better off', () => {
    const asked: number[] = [];
    const fits = (place: number) => asked.push(place) > 0;
    expect(target([9000, 500, 600, 400, 9500], 0, 1000, fits)).toBe(3);
    expect(asked).toEqual([1, 3]);
  });
});

test('a session that moved stays for the cooldown', () => {
  expect(hasCooledDown(100, undefined, 60_000)).toBe(true);
  expect(hasCooledDown(60_099, 100, 60_000)).toBe(false);
  expect(hasCooledDown(60_100, 100, 60_000)).toBe(true);
  expect(hasCooledDown(100, 100, 0)).toBe(true);
});

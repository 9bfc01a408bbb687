import { describe, expect, it } from 'vitest';
import { type Comparison, compareReports, confirmed } from '../../bench/compare.js';
import type { Figure } from '../../bench/figures.js';
import { reportOf, timesOf } from './reports.js';

const verdicts = ({ figures }: Comparison) => figures.map(({ verdict }) => verdict);

describe('comparing two runs', () => {
  it('finds no change between a run and itself', () => {
    const run = timesOf([12, 13, 19]);
    const { figures } = compareReports(run, run);
    expect(figures).toMatchObject([{ ratio: 1, verdict: 'no change', old: 12, new: 12 }]);
  });

  it('finds no change where only some launches met a busy machine', () => {
    expect(verdicts(compareReports(timesOf([12.1, 30, 12.3]), timesOf([12, 12.1, 12.2])))).toEqual([
      'no change',
    ]);
  });

  it('tells a slowdown and a speed-up of a fifth', () => {
    const [before, after] = [timesOf([10, 10.1, 10.4]), timesOf([12, 12.1, 12.6])];
    expect(compareReports(after, before).figures).toMatchObject([{ ratio: 1.2, verdict: 'worse' }]);
    expect(compareReports(before, after).figures).toMatchObject([{ verdict: 'better' }]);
  });

  it('takes a higher rate for the better one', () => {
    const rate = { unit: 'blocks/s', better: 'higher' } as const;
    const [before, after] = [timesOf([100, 99, 98], rate), timesOf([80, 79, 79], rate)];
    expect(compareReports(after, before).figures).toMatchObject([{ ratio: 1.25, verdict: 'worse' }]);
  });

  it('doubts a change as far as the best launches of each run are apart', () => {
    const far = [12, 13.5, 14];
    expect(verdicts(compareReports(timesOf(far), timesOf([10, 10.1, 10.2])))).toEqual(['no change']);
    expect(verdicts(compareReports(timesOf([12]), timesOf([10])))).toEqual(['no change']);
    expect(verdicts(compareReports(timesOf([14]), timesOf([10])))).toEqual(['worse']);
  });

  it('compares the best rounds, not the medians', () => {
    const [before, after] = [timesOf([15, 16, 15], { best: 10 }), timesOf([10, 10, 10], { best: 10 })];
    expect(compareReports(after, before).figures).toMatchObject([{ old: 10, new: 10, verdict: 'no change' }]);
  });

  it('doubts a change as far as the baselines moved', () => {
    const figures = (ours: number, theirs: number) =>
      [ours, ours].map((time): Figure[] => [
        { name: 'native', unit: 'ns', value: time, better: 'lower' },
        { name: 'wasm', unit: 'ns', value: theirs, better: 'lower', baseline: true },
      ]);
    const before = reportOf(...figures(10, 100));
    expect(verdicts(compareReports(reportOf(...figures(12, 109)), before))).toEqual(['worse', 'no change']);
    expect(verdicts(compareReports(reportOf(...figures(12, 120)), before))).toEqual(['no change', 'worse']);
  });

  it('finds no change while a launch of the one run is like those of the other', () => {
    expect(verdicts(compareReports(timesOf([12, 12, 12]), timesOf([10, 10, 12.5])))).toEqual(['no change']);
  });

  it('takes times that read as 0 for alike', () => {
    const run = timesOf([0, 0, 0]);
    expect(compareReports(run, run).figures).toMatchObject([{ ratio: 1, noise: 0.1, verdict: 'no change' }]);
  });

  it('compares no ratios, whose sides are compared', () => {
    const ratio = timesOf([3], { unit: 'x' });
    expect(compareReports(ratio, ratio)).toMatchObject({ figures: [], unmatched: [] });
  });

  it('leaves out what is no matter of better or worse, and names what has no counterpart', () => {
    const count = { name: 'blocks', value: 3, unit: 'blocks' };
    const time = { name: 'new', value: 3, unit: 'ns', better: 'lower' } as const;
    const comparison = compareReports(reportOf([count, time]), reportOf([count]));
    expect(comparison).toMatchObject({ figures: [], unmatched: ['hash: new'] });
    expect(compareReports(reportOf([count]), reportOf([count, time])).unmatched).toEqual(['hash: new']);
  });

  it('tells figures of one name apart by their units', () => {
    const [a, b] = ['bytes/block', 'bytes/session'].map(
      (unit, i) => ({ name: 'ownership', value: i + 1, unit, better: 'lower' }) as const,
    );
    const comparison = compareReports(reportOf([a!, b!]), reportOf([b!, a!]));
    expect(comparison.figures.map(({ unit, old }) => [unit, old])).toEqual([
      ['bytes/block', 1],
      ['bytes/session', 2],
    ]);
  });

  it('says what else is different', () => {
    const run = timesOf([1]);
    const { differences } = compareReports(
      { ...run, node: '22.0.0', trace: 'a.jsonl' },
      { ...run, cpu: 'another' },
    );
    expect(differences).toEqual([
      'processor: another, now a processor',
      'Node: 20.0.0, now 22.0.0',
      'trace: none, now a.jsonl',
    ]);
  });

  it('marks the baselines among the figures', () => {
    const run = timesOf([1], { baseline: true });
    expect(compareReports(run, run).figures).toMatchObject([{ baseline: true }]);
  });

  it('believes a change that is seen twice, in the same way', () => {
    const before = timesOf([10, 10, 10]);
    const [slow, slower, same, fast] = [12, 13, 10, 8].map((time) =>
      compareReports(timesOf([time, time]), before),
    ) as [Comparison, Comparison, Comparison, Comparison];
    expect(confirmed(slow, slower).figures).toMatchObject([{ verdict: 'worse', new: 12 }]);
    expect(confirmed(slow, same).figures).toMatchObject([{ verdict: 'no change', new: 10 }]);
    expect(verdicts(confirmed(slow, fast))).toEqual(['no change']);
    expect(verdicts(confirmed(same, slow))).toEqual(['no change']);
  });
});

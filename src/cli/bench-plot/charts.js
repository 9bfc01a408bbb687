// Runs in the page: draws its charts with Observable Plot, and anew when their width changes.
(() => {
  const { Plot, d3 } = globalThis;
  const FONT = 12;
  const LINE = 1.3 * FONT;
  const BAR = 14;
  /** Below this width a value stands under the name of its figure, not beside it. */
  const WIDE = 560;

  const pen = document.createElement('canvas').getContext('2d');

  function widthOf(text) {
    pen.font = `${FONT}px system-ui, sans-serif`;
    return pen.measureText(text).width;
  }

  function short(value) {
    if (value === 0) return '0';
    const magnitude = Math.abs(value);
    if (magnitude >= 1e4) return d3.format('.3~s')(value).replace('G', 'B');
    return magnitude >= 1000 ? d3.format(',.4~r')(value) : d3.format('.3~r')(value);
  }

  /** As many as find room, and so that neighbours can be told apart. */
  function ticksOf({ scale, domain: [low, high] }, width) {
    const most = Math.max(2, Math.floor(width / 70));
    if (scale === 'linear' || high / low < 8) return d3.ticks(low, high, most);
    const decades = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
    const choices = [[1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]].map((digits) =>
      decades
        .flatMap((decade) => digits.map((digit) => digit * 10 ** decade))
        .filter((tick) => tick >= low && tick <= high),
    );
    const fitting = choices.find((ticks) => ticks.length <= most);
    if (fitting !== undefined) return fitting;
    const tens = choices.at(-1);
    const step = Math.ceil(tens.length / most);
    return tens.filter((_, i) => i % step === 0);
  }

  /** The text with its line ends, and how many lines it has. */
  function wrap(text, width) {
    const lines = [''];
    for (const word of text.split(' ')) {
      const longer = lines.at(-1) === '' ? word : `${lines.at(-1)} ${word}`;
      if (widthOf(longer) <= width || lines.at(-1) === '') lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return { text: lines.join('\n'), lines: lines.length };
  }

  function colourOf({ met, baseline }) {
    if (met === undefined) return baseline ? 'var(--soft)' : 'var(--load)';
    return met ? 'var(--hit)' : 'var(--bad)';
  }

  /** A row for each figure: its name and value, and under them a bar, its whisker and the target. */
  function bars({ label, scale, domain, base, rows }, width) {
    const margin = { left: 4, right: 12 };
    const room = width - margin.left - margin.right;
    const wide = width >= WIDE;
    const values = Math.max(...rows.map(({ shown }) => 1.1 * widthOf(shown)));
    const figures = rows.map((row, i) => ({
      ...row,
      i,
      low: row.launches[0],
      high: row.launches[1],
      colour: colourOf(row),
      told: `${row.name}: ${row.shown}`,
      wrapped: wrap(row.name, wide ? room - values - 16 : room),
    }));
    const above = (Math.max(...figures.map(({ wrapped }) => wrapped.lines)) + (wide ? 0 : 1)) * LINE + 12;
    const below = 5;
    const height = above + BAR + below;
    const bottom = scale === 'log' ? 36 : 22;
    /** From the middle of a row to that of its bar, and to where its words end. */
    const barAt = (above - below) / 2;
    const wordsAt = above - height / 2 - 7;
    const band = { y: 'i', insetTop: above, insetBottom: below };
    const beyond = { y: 'i', insetTop: above - 4, insetBottom: below - 4 };
    const told = { y: 'i', title: 'told' };
    const words = { ...told, lineAnchor: 'bottom', lineHeight: LINE / FONT, fontSize: FONT };
    const spread = figures.filter(({ low, high }) => low < high);
    const targets = figures.flatMap(({ i, targets }) => targets.map((x) => ({ i, x })));
    const ticks = ticksOf({ scale, domain }, room);
    // Labels are given as `text`: of a logarithmic axis `tickFormat` leaves some out.
    return Plot.plot({
      width,
      height: rows.length * height + bottom,
      marginTop: 0,
      marginBottom: bottom,
      marginLeft: margin.left,
      marginRight: margin.right,
      ariaLabel: label,
      x: { type: scale, domain, label: scale === 'log' ? 'logarithmic →' : null, labelArrow: 'none' },
      y: { type: 'band', domain: d3.range(rows.length), axis: null, padding: 0, round: false },
      marks: [
        Plot.tickX(
          figures.flatMap(({ i }) => ticks.map((x) => ({ i, x }))),
          { ...beyond, x: 'x', stroke: 'var(--line)' },
        ),
        Plot.axisX({ ticks, text: short, tickSize: 0, tickPadding: 6, color: 'var(--soft)' }),
        base === undefined
          ? Plot.ruleY(figures, { y: 'i', dy: barAt, stroke: 'var(--line)', strokeWidth: 2 })
          : Plot.barX(figures, {
              ...band,
              ...told,
              x1: () => base,
              x2: 'value',
              fill: 'colour',
              fillOpacity: 0.75,
            }),
        base === undefined
          ? Plot.dot(figures, { ...told, x: 'value', dy: barAt, r: 6, fill: 'colour' })
          : Plot.tickX(figures, { ...beyond, x: () => base, stroke: 'var(--soft)' }),
        Plot.ruleY(spread, { y: 'i', x1: 'low', x2: 'high', dy: barAt, strokeWidth: 1.5, marker: 'tick' }),
        Plot.tickX(targets, { ...beyond, x: 'x', strokeWidth: 3 }),
        Plot.text(figures, {
          ...words,
          text: ({ wrapped }) => wrapped.text,
          frameAnchor: 'left',
          dy: wide ? wordsAt : wordsAt - LINE,
        }),
        Plot.text(figures, {
          ...words,
          text: 'shown',
          frameAnchor: wide ? 'right' : 'left',
          dy: wordsAt,
          fontWeight: 600,
          fill: ({ met }) => (met === undefined ? 'var(--ink)' : colourOf({ met })),
        }),
      ],
    });
  }

  /** How often a sample took so long, and where the percentiles are. */
  function histogram({ label, unit, domain, bins, percentiles }, width) {
    const margin = { left: 40, right: 14, top: 3 * LINE + 4, bottom: 36 };
    const room = width - margin.left - margin.right;
    const x = d3.scaleLog(domain, [0, room]);
    const most = Math.max(...bins.map(({ share }) => share));
    return Plot.plot({
      width,
      height: 190,
      marginTop: margin.top,
      marginBottom: margin.bottom,
      marginLeft: margin.left,
      marginRight: margin.right,
      ariaLabel: label,
      x: { type: 'log', domain, label: `${unit}, logarithmic →`, labelArrow: 'none' },
      y: { label: null, domain: [0, most] },
      marks: [
        Plot.axisX({
          ticks: ticksOf({ scale: 'log', domain }, room),
          text: short,
          color: 'var(--soft)',
        }),
        Plot.gridY({ ticks: 3, stroke: 'var(--line)', strokeOpacity: 1 }),
        Plot.axisY({ ticks: 3, tickFormat: most < 0.05 ? '.1%' : '.0%', tickSize: 0, color: 'var(--soft)' }),
        Plot.rectY(bins, {
          x1: 'from',
          x2: 'to',
          y: 'share',
          fill: 'var(--load)',
          fillOpacity: 0.75,
          insetLeft: 0.5,
          insetRight: 0.5,
          title: ({ from, to, share }) =>
            `${short(from)} to ${short(to)} ${unit}: ${d3.format('.2~%')(share)} of the samples`,
        }),
        Plot.ruleY([0], { stroke: 'var(--soft)' }),
        // The names of percentiles that are near to each other stand on lines of their own.
        ...percentiles.flatMap(({ name, value }, i) => {
          const isRight = x(value) > room - 40;
          const dy = i * LINE - margin.top + 2;
          return [
            Plot.ruleX([value], {
              insetTop: dy,
              strokeWidth: 1.5,
              strokeDasharray: ['none', '5 3', '1.5 2.5'][i],
            }),
            Plot.text([value], {
              x: value,
              text: () => name,
              frameAnchor: 'top',
              textAnchor: isRight ? 'end' : 'start',
              dx: isRight ? -4 : 4,
              dy,
              fontSize: FONT,
              fill: 'var(--ink)',
              stroke: 'var(--card)',
              strokeWidth: 3,
            }),
          ];
        }),
      ],
    });
  }

  const draw = { bars, histogram };
  const drawn = new WeakMap();
  const watcher = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const width = Math.floor(contentRect.width);
      if (width < 100 || drawn.get(target) === width) continue;
      drawn.set(target, width);
      const chart = JSON.parse(target.nextElementSibling.textContent);
      const svg = draw[chart.kind](chart, width);
      svg.setAttribute('role', 'img');
      target.replaceChildren(svg);
    }
  });
  for (const place of document.querySelectorAll('.plot')) watcher.observe(place);
})();

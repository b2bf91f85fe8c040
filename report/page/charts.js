/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
/* What all parts of the page share: elements, units, colours; and the charts. */

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {}))
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined) made.append(child);
  return made;
}

function drawing(name, attributes, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children.flat(Infinity));
  return made;
}

/* ---- numbers -------------------------------------------------------------------------------- */

const UNITS = [['ns', 1, 0], ['\u00b5s', 1e3, 3], ['ms', 1e6, 6], ['s', 1e9, 9]];

/** The unit for a whole column or axis, so that its numbers can be compared at a glance. */
function unitFor(largestNs) {
  const size = Math.abs(largestNs);
  return size < 1e5 ? UNITS[0] : size < 1e8 ? UNITS[1] : size < 1e11 ? UNITS[2] : UNITS[3];
}

function grouped(text) {
  const [whole, rest] = text.split('.');
  const spaced = whole.replace(/\B(?=(\d{3})+$)/g, '\u202f');
  return rest === undefined ? spaced : spaced + '.' + rest;
}

/** A time in a column's unit: no nanosecond is lost. */
function inUnit(ns, unit) {
  return ns === null || ns === undefined ? '\u2013' : grouped((ns / unit[1]).toFixed(unit[2]));
}

/** A time on its own, as a sentence has it: four digits that count, at least. */
function time(ns) {
  if (ns === null || ns === undefined) return '\u2013';
  const unit = unitFor(Math.abs(ns) < 1e4 ? 0 : Math.max(Math.abs(ns), 1e5));
  const digits = unit[2] === 0 ? 0 : Math.max(0, 3 - Math.floor(Math.log10(Math.abs(ns) / unit[1])));
  return grouped(String(Number((ns / unit[1]).toFixed(Math.min(digits, unit[2]))))) + '\u00a0' + unit[0];
}

function count(number) {
  return number === null || number === undefined ? '\u2013' : grouped(String(number));
}

function percent(value) {
  if (value === null || value === undefined) return '\u2013';
  if (value === 0) return '0';
  return value > 0 && value < 1 ? String(Number(value.toPrecision(3))) : grouped(value.toFixed(value < 100 ? 2 : 0));
}

/** "4.34\u00b710\u207b\u2075", and "10\u2074" for the power itself. */
function scientific(value, digits) {
  const [factor, exponent] = value.toExponential(digits - 1).split('e');
  const power = '10' + [...exponent.replace('+', '')].map((c) => (c === '-' ? '\u207b' : '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079'[c])).join('');
  return Number(factor) === 1 ? power : `${Number(factor)}\u00b7${power}`;
}

/** A number of a table of findings. */
function plain(value) {
  if (value === null || value === undefined) return '\u2013';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value)) return grouped(String(value));
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e9) ? scientific(value, 4)
                                                    : grouped(String(Number(value.toPrecision(5))));
}

/* ---- colours -------------------------------------------------------------------------------- */

/* Okabe and Ito, "Color Universal Design", 2008, lightened where the paper is dark. What a colour
 * tells, a shape, dash or pattern tells as well. */
const LIGHT = {
  ink: '#1c2024', soft: '#59636e', line: '#d0d5db', paper: '#ffffff', planned: '#e9ecf0', plannedEdge: '#98a1ab',
  phase: ['#0072B2', '#E69F00', '#009E73'], late: '#C04A00', overrun: '#A0508A',
  series: ['#0072B2', '#D55E00', '#009E73', '#A0508A', '#8A6A00', '#2F8FC0', '#444444', '#007C80', '#8A63D2'],
};
const DARK = {
  ink: '#e8eaed', soft: '#a4adb6', line: '#3d444c', paper: '#14171a', planned: '#2a3036', plannedEdge: '#69737d',
  phase: ['#56B4E9', '#E69F00', '#19C294'], late: '#FF8A3D', overrun: '#E79CCB',
  series: ['#56B4E9', '#FF8A3D', '#19C294', '#E79CCB', '#F0E442', '#9CC9E8', '#CCCCCC', '#4FD8D8', '#BBA4F2'],
};
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [14, 4], [1, 4], [6, 2, 1, 2]];

const darkPaper = matchMedia('(prefers-color-scheme: dark)');
let printing = false;
function colours() {
  return darkPaper.matches && !printing ? DARK : LIGHT;
}

/** Everything that has to be drawn again for other paper or another width. */
const redrawn = [];
function drawAgain() {
  for (const draw of redrawn) draw();
}
darkPaper.addEventListener('change', drawAgain);
addEventListener('beforeprint', () => { printing = true; drawAgain(); });
addEventListener('afterprint', () => { printing = false; drawAgain(); });
let resizing = 0;
addEventListener('resize', () => { clearTimeout(resizing); resizing = setTimeout(drawAgain, 100); });

function widthOf(box) {
  return printing ? (box.closest('.charts') ? 334 : 680) : Math.max(320, Math.min(1180, box.clientWidth || 1180));
}

/** How many charts were drawn: what tests of the page look at. */
const drawnCounts = {};
function countDrawn(kind) {
  drawnCounts[kind] = (drawnCounts[kind] || 0) + 1;
}

/* ---- lines, points, steps ------------------------------------------------------------------- */

function axis(label, paper, size) {
  return {
    label, size, stroke: paper.ink, labelSize: 22, font: '12px system-ui, sans-serif',
    labelFont: '13px system-ui, sans-serif', grid: {stroke: paper.line, width: 1},
    ticks: {stroke: paper.line, width: 1},
    values: (_, splits) => splits.map((v) => (v === null || v === undefined ? '' : plain(Number(v.toPrecision(9))))),
  };
}

/** Which lines of a logarithmic axis have a number: those for which there is room. */
function numbered(plot, splits, at, room) {
  const {scale} = plot.axes[at], decade = Math.abs(plot.valToPos(10, scale) - plot.valToPos(1, scale));
  const digits = decade > 7 * room ? '12357' : decade > 3.5 * room ? '125' : '1', every = Math.ceil(room / decade);
  return splits.map((v) => {
    const [factor, exponent] = v.toExponential(6).split('e');
    return Number.isInteger(Number(factor)) && digits.includes(Number(factor)) && Number(exponent) % every === 0 ? v : null;
  });
}

/** Colour and dash of a chart's series: a colour for each mode, and no two alike before there are 9 x 8 of them. */
function strokeOf(index, paper) {
  return {colour: paper.series[index % paper.series.length], dash: DASHES[index % DASHES.length]};
}

/** Every other series of points is hollow. */
function pointFill(index, paper) {
  return index % 2 ? paper.paper : strokeOf(index, paper).colour;
}

/** The same in the legend: a point, or a piece of line. */
function legendMark(index, spec, paper) {
  const {colour, dash} = strokeOf(index, paper);
  if (spec.kind === 'points') return pointFill(index, paper);
  const line = `<svg xmlns="http://www.w3.org/2000/svg" width="36" height="4"><path d="M0 2H36" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash.join(' ')}"/></svg>`;
  return `url('data:image/svg+xml,${encodeURIComponent(line)}')`;
}

/** A legend's number; nothing where the pointer is not. */
function shown(_, value) {
  return value === null || value === undefined ? '' : plain(value);
}

/** So many curves can be told apart; the others are shown when they are chosen in the legend. */
const MOST_CURVES = 18;

function chartSeries(series, index, spec, paper) {
  const {colour, dash} = strokeOf(index, paper);
  return {
    label: series.name, stroke: colour, width: spec.kind === 'points' ? 0 : 2, dash,
    spanGaps: true, paths: spec.kind === 'steps' ? uPlot.paths.stepped({align: 1})
                         : spec.kind === 'points' ? () => null : undefined,
    points: {show: spec.kind === 'points' || (spec.kind === 'lines' && series.x.length <= 40), size: 7,
             fill: pointFill(index, paper), stroke: colour},
    show: index < MOST_CURVES, value: shown,
  };
}

/** Ends of error bars, drawn as I-beams; pale and without their ends where they stand close. */
function drawRanges(plot, spec, paper) {
  const {ctx} = plot;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  spec.series.forEach((series, s) => {
    if (!series.low || !plot.series[s + 1].show) return;
    const room = plot.bbox.width / series.x.length / devicePixelRatio;
    ctx.strokeStyle = strokeOf(s, paper).colour;
    ctx.globalAlpha = room < 9 ? 0.35 : 1;
    ctx.beginPath();
    series.x.forEach((x, i) => {
      if (series.low[i] === null || series.high[i] === null) return;
      const at = plot.valToPos(x, 'x', true), from = plot.valToPos(series.low[i], 'y', true),
            to = plot.valToPos(series.high[i], 'y', true), half = room < 9 ? 0 : 4 * devicePixelRatio;
      ctx.moveTo(at, from); ctx.lineTo(at, to);
      ctx.moveTo(at - half, from); ctx.lineTo(at + half, from);
      ctx.moveTo(at - half, to); ctx.lineTo(at + half, to);
    });
    ctx.stroke();
  });
  ctx.restore();
}

function extremes(lists) {
  let least = Infinity, most = -Infinity;
  for (const list of lists)
    for (const value of list || [])
      if (value !== null && Number.isFinite(value)) {
        least = Math.min(least, value);
        most = Math.max(most, value);
      }
  return [least, most];
}

function yRange(spec) {
  if (spec.yRange) return spec.yRange;
  const [least, most] = extremes(spec.series.flatMap((s) => [s.y, s.low, s.high]));
  if (!Number.isFinite(least)) return [0, 1];
  if (spec.logY) return [10 ** Math.floor(Math.log10(Math.max(least, 1e-12))), 10 ** Math.ceil(Math.log10(Math.max(most, 1e-12) * 1.001))];
  const room = (most - least || Math.abs(most) || 1) * 0.06;
  return [least >= 0 && least - room < 0 ? 0 : least - room, most + room];
}

/** Numbers that a logarithm does not take are left out. */
function positive(series, spec) {
  const keep = series.x.map((x, i) => x !== null && (!spec.logX || x > 0) && (!spec.logY || series.y[i] > 0));
  const pick = (list) => list && list.filter((_, i) => keep[i]);
  return {...series, x: pick(series.x), y: pick(series.y), low: pick(series.low), high: pick(series.high)};
}

/** spec: {kind, xLabel, yLabel, logX, logY, nearZero, yRange, series: [{name, x, y, low, high}]}; x ascending. nearZero: x is
 *  linear up to about there and logarithmic above. */
function drawLines(box, spec) {
  const paper = colours();
  const drawn = {...spec, series: spec.series.map((s) => positive(s, spec)).filter((s) => s.x.length)};
  if (!drawn.series.length) {
    box.replaceChildren(element('p', {class: 'soft'}, 'No numbers that can be drawn on these axes.'));
    return;
  }
  const tables = drawn.series.map((s) => [s.x, s.y]);
  const data = tables.length > 1 ? uPlot.join(tables) : tables[0];
  const logarithmic = (on) => (on ? {distr: 3} : {});
  const numbers = (on, room) => (on ? {filter: (plot, splits, at) => numbered(plot, splits, at, room)} : {});
  box.replaceChildren();
  new uPlot({
    width: widthOf(box), height: printing ? 210 : 330,
    scales: {x: {time: false, ...logarithmic(spec.logX), ...(spec.nearZero ? {distr: 4, asinh: spec.nearZero, range: (_, from, to) => [Math.max(from, 0), Math.max(to, spec.nearZero) * 1.05]} : {})},
             y: {...logarithmic(spec.logY), range: () => yRange(drawn)}},
    padding: [null, 36, null, null],
    axes: [{...axis(spec.xLabel, paper, 42), space: 64, ...numbers(spec.logX, 64),
            ...(spec.nearZero ? {splits: (_, __, from, to) => decades(from, to, spec.nearZero), filter: apart} : {})},
           {...axis(spec.yLabel, paper, 70), ...numbers(spec.logY, 24)}],
    series: [{label: spec.xLabel, value: shown},
             ...drawn.series.map((s, i) => chartSeries(s, i, spec, paper))],
    cursor: {drag: {x: true, y: false}},
    legend: {markers: {width: spec.kind === 'points' ? 2 : 0, stroke: (_, i) => strokeOf(i - 1, paper).colour, dash: () => 'solid',
                       fill: (_, i) => legendMark(i - 1, spec, paper)}},
    hooks: {drawAxes: [(plot) => drawRanges(plot, drawn, paper)],
            draw: [({scales: {x}}) => { box.dataset.x = `${Number(x.min.toPrecision(4))},${Number(x.max.toPrecision(4))}`; }]},
  }, data, box);
  if (drawn.series.length > MOST_CURVES)
    box.append(element('p', {class: 'soft'}, `The first ${MOST_CURVES} of ${drawn.series.length} are drawn: a click on a name draws or hides it.`));
  box.classList.toggle('points', spec.kind === 'points');
}

/** Zero and powers of ten; between two of them equal steps. */
function decades(from, to, nearZero) {
  const found = from <= 0 ? [0] : [];
  for (let at = 10 ** Math.ceil(Math.log10(Math.max(from, nearZero / 4))); at <= to; at *= 10) found.push(at);
  if (found.length > 2) return found;
  const step = 10 ** Math.floor(Math.log10((to - from) / 2 || 1));
  return Array.from({length: Math.floor((to - from) / step) + 1}, (_, i) => (Math.ceil(from / step) + i) * step).filter((at) => at <= to);
}

/** Numbers that would touch the one before them are left out. */
function apart(plot, splits) {
  let last = -Infinity;
  return splits.map((v) => {
    const at = plot.valToPos(v, 'x');
    if (at - last < 30) return null;
    last = at;
    return v;
  });
}

/** A chart that draws itself again when it has to; `specOf` is asked anew each time. */
function lineChart(specOf) {
  const box = element('div', {class: 'chart'});
  const draw = () => drawLines(box, specOf());
  redrawn.push(draw);
  countDrawn('lines');
  return {box, draw};
}

/* ---- histogram of lateness ------------------------------------------------------------------ */

function bucketLabel(bound) {
  if (bound === null) return 'more';
  if (bound === 0) return '0';
  return bound < 1e4 ? String(bound) : bound < 1e6 ? Math.round(bound / 1e3) + ' \u00b5s' : Number((bound / 1e6).toPrecision(2)) + ' ms';
}

/** From the first bucket to the last that counts anything, the empty ones between included; of those at the start one is
 *  left. */
function filledBuckets(pairs) {
  const bounds = [0];
  for (let bit = 1; bit < 39; ++bit) bounds.push(2 ** bit - 1);
  bounds.push(null);
  const counts = new Map(pairs.map(([bound, n]) => [bound, n]));
  const last = bounds.findLastIndex((bound) => counts.has(bound)), first = bounds.findIndex((bound) => counts.has(bound));
  return bounds.slice(0, last + 1).map((bound, i) => ({
    bound, least: i === 0 ? 0 : i === 1 ? 1 : 2 ** (i - 1), count: counts.get(bound) || 0,
  })).slice(Math.max(first - 1, 0));
}

/** Counts on a logarithmic scale; what is late is hatched, the maximum has a line and its number. All buckets stand within
 *  `room` pixels: where they are narrow, their counts stand upright and some of their labels are left out, the last never. */
function latenessHistogram(row, lateNs, room) {
  const paper = colours();
  const buckets = filledBuckets(row.lateness_hist);
  const left = 62, right = 12, step = Math.min(64, (room - left - right) / buckets.length), narrow = step < 40, tall = 190;
  const top = narrow ? 84 : 50, width = Math.max(room, 320), height = top + tall + 50;
  const decades = Math.max(1, Math.ceil(Math.log10(Math.max(...buckets.map((b) => b.count), 1) + 1)));
  const heightOf = (n) => (n <= 0 ? 0 : (tall * (Math.log10(n) + 0.12)) / (decades + 0.12));
  const picture = drawing('svg', {viewBox: `0 0 ${width} ${height}`, width, role: 'img', 'data-buckets': buckets.length,
    'aria-label': `Histogram of lateness of ${row.label}; the maximum is ${row.lateness_max_ns} ns`});
  picture.append(drawing('defs', {}, drawing('pattern', {id: 'late-hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse',
    patternTransform: 'rotate(45)'}, drawing('rect', {width: 6, height: 6, fill: paper.paper}),
    drawing('rect', {width: 3, height: 6, fill: paper.late}))));
  const say = (x, y, text, anchor, fill, upright) => picture.append(
    drawing('text', {x, y, 'text-anchor': anchor, ...(upright ? {transform: `rotate(-90 ${x} ${y})`} : {}),
      ...(fill ? {style: `fill:${fill};font-weight:600`} : {})}, text));
  for (let d = 0; d <= decades; ++d) {
    const y = top + tall - heightOf(10 ** d);
    picture.append(drawing('line', {x1: left, x2: left + step * buckets.length, y1: y, y2: y, stroke: paper.line}));
    say(left - 6, y + 4, d < 4 ? String(10 ** d) : scientific(10 ** d, 1), 'end');
  }
  const gap = step < 20 ? 1 : 2, every = Math.ceil(46 / step);
  buckets.forEach((bucket, i) => {
    const x = left + i * step, tallness = heightOf(bucket.count), late = bucket.least > lateNs;
    picture.append(drawing('rect', {x: x + gap, y: top + tall - tallness, width: step - 2 * gap, height: tallness,
      fill: late ? 'url(#late-hatch)' : paper.phase[0], stroke: late ? paper.late : paper.phase[0]},
      drawing('title', {}, `${count(bucket.count)} releases, ${bucket.least} to ${bucket.bound === null ? 'any' : bucket.bound} ns late`)));
    const words = count(bucket.count), short = narrow || words.length > step / 7 ? scientific(bucket.count, 2) : words;
    const text = narrow && words.length < 7 ? words : short;
    if (bucket.count > 0 && narrow) say(x + step / 2 + 4, top + tall - tallness - 4, text, 'start', null, true);
    else if (bucket.count > 0) say(x + step / 2, top + tall - tallness - 4, text, 'middle');
    if ((buckets.length - 1 - i) % every === 0) say(x + step / 2, top + tall + 16, bucketLabel(bucket.bound), 'middle');
  });
  const at = buckets.findIndex((b) => b.bound === null || row.lateness_max_ns <= b.bound);
  const mark = left + (Math.max(at, 0) + 0.97) * step, toTheLeft = mark > width - 160;
  picture.append(drawing('line', {x1: mark, x2: mark, y1: 12, y2: top + tall, stroke: paper.late,
    'stroke-width': 2, 'stroke-dasharray': '5 3'}));
  say(toTheLeft ? mark - 6 : mark + 6, 14, toTheLeft ? `maximum ${time(row.lateness_max_ns)} \u25ba` : `\u25c4 maximum ${time(row.lateness_max_ns)}`,
    toTheLeft ? 'end' : 'start', paper.late);
  say(narrow ? 2 : left, top + tall + 38, narrow ? 'lateness up to, ns; buckets double, counts logarithmic' :
    'lateness up to, in ns (buckets double); releases counted on a logarithmic scale', 'start');
  return picture;
}

/* ---- heat maps and bars --------------------------------------------------------------------- */

/* Points of cividis (Nu\u00f1ez, Anderton, Renslow: "Optimizing colormaps with consideration for color
 * vision deficiency", 2018): brightness alone tells the order. */
const CIVIDIS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];

function heatColour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (CIVIDIS.length - 1);
  const i = Math.min(Math.floor(place), CIVIDIS.length - 2), part = place - i;
  return CIVIDIS[i].map((from, c) => Math.round(from + (CIVIDIS[i + 1][c] - from) * part));
}

/** Numbers of one magnitude a logarithm would only move apart. */
function needsLogarithm(lists) {
  const [least, most] = extremes(lists.map((list) => list && list.filter((v) => v > 0)));
  return most > 8 * least;
}

/** A few large numbers would leave all others one colour. */
function wantsLogarithm(values) {
  const known = values.filter((v) => v !== null).sort((a, b) => a - b);
  return known.length > 2 && known[0] > 0 && known[known.length - 1] > 8 * known[known.length >> 1];
}

/** spec: {xLabel, valueLabel, columns, rows: [{name, values}], all: values of all maps on this scale, log}. Numbers stand in
 *  the cells. */
function heatMap(spec) {
  const [least, most] = extremes([spec.all]), log = least > 0 && (spec.log || wantsLogarithm(spec.all));
  const scale = (v) => (log ? Math.log(v) : v);
  const from = scale(least), span = scale(most) - from || 1;
  const wide = spec.columns.length > 16;
  const cell = (value) => {
    if (value === null || value === undefined) return element('td', {}, '\u2013');
    const [r, g, b] = heatColour((scale(value) - from) / span);
    const ink = 0.299 * r + 0.587 * g + 0.114 * b > 135 ? '#000' : '#fff';
    return element('td', {style: `background:rgb(${r},${g},${b});color:${ink}`}, plain(Number(value.toPrecision(!wide ? 4 : Math.abs(value) < 1 ? 2 : 3))));
  };
  const ramp = [0, 0.2, 0.4, 0.6, 0.8, 1].map((s) => `rgb(${heatColour(s).join(',')})`).join(',');
  countDrawn('maps');
  return element('div', {class: 'scroll'},
    element('table', {class: wide ? 'map wide' : 'map'}, element('caption', {}, `${spec.valueLabel}: ${plain(Number(least.toPrecision(4)))} `,
      element('span', {class: 'scale', style: `background:linear-gradient(90deg,${ramp})`}), ` ${plain(Number(most.toPrecision(4)))}`,
      log ? ' (logarithmic)' : '', spec.shared ? ', the same colours in all maps of it' : ''),
      element('tr', {}, element('th', {}, ''), spec.columns.map((c) => element('th', {class: 'column'}, plain(c).replaceAll('_', '_\u200b')))),
      spec.rows.map((row) => element('tr', {}, element('th', {class: 'text'}, plain(row.name)), row.values.map(cell))),
      element('tr', {}, element('th', {}, ''), element('th', {colspan: spec.columns.length}, spec.xLabel))));
}

/** spec: {valueLabel, groups: [{name, bars: [{name, value, low, high}]}], log}. */
function barChart(spec) {
  const paper = LIGHT;
  const values = spec.groups.flatMap((g) => g.bars.map((b) => b.value)), [least, most] = extremes([values]);
  const names = [...new Set(spec.groups.flatMap((g) => g.bars.map((b) => b.name)))];
  const log = spec.log && least > 0 && needsLogarithm([values]);
  const share = (v) => (!(v > 0) || !(most > 0) ? 0 : log ? 0.05 + (0.95 * Math.log(v / least)) / Math.log(most / least) : v / most);
  const fill = (i) => {
    const colour = paper.series[i % paper.series.length];
    return i % 3 === 0 ? colour : `repeating-linear-gradient(${i % 3 === 1 ? 45 : 90}deg,${colour} 0 6px,#fff 6px 8px)`;
  };
  countDrawn('bars');
  return element('div', {class: 'scroll'}, element('table', {class: 'bars'},
    element('caption', {}, spec.valueLabel + (log ? ' (lengths are logarithmic)' : '')),
    spec.groups.map((group) => group.bars.map((bar, i) => element('tr', {},
      element('th', {class: 'text'}, i === 0 ? plain(group.name) : ''),
      element('td', {class: 'text'}, names.length > 1 || bar.name !== '' ? plain(bar.name) : ''),
      element('td', {class: 'bar'}, element('div', {class: 'fill',
        style: `width:${(100 * share(bar.value)).toFixed(2)}%;background:${fill(names.indexOf(bar.name))}`})),
      element('td', {}, plain(bar.value),
        bar.low !== null && bar.low !== undefined ? ` (${plain(bar.low)} to ${plain(bar.high)})` : ''))))));
}

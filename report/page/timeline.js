/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
/* Scheduled against real phases: a lane for each block, to be zoomed and panned. */

const PHASES = ['prefetch', 'compute', 'writeback'];
const LEFT = 150, AXIS = 30;
/** By how many rows a lane has: its height, and the rows of prefetch, compute and writeback. */
const LANES = {1: {height: 26, rows: [0, 0, 0]}, 2: {height: 36, rows: [0, 1, 0]}, 3: {height: 48, rows: [0, 1, 2]}};

/** Hatches by which phases are told apart without colours; made once for each paper. */
const hatches = new Map();
function hatch(ctx, phase, paper) {
  const key = paper.phase[phase] + phase;
  if (!hatches.has(key)) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const pen = tile.getContext('2d');
    pen.fillStyle = paper.phase[phase];
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = paper.paper;
    pen.globalAlpha = 0.55;
    pen.lineWidth = 1.4;
    pen.beginPath();
    for (const shift of [-8, 0, 8])
      if (phase === 0) { pen.moveTo(shift, 8); pen.lineTo(shift + 8, 0); }
      else if (phase === 2) { pen.moveTo(shift, 0); pen.lineTo(shift + 8, 8); }
    pen.stroke();
    hatches.set(key, ctx.createPattern(tile, 'repeat'));
  }
  return hatches.get(key);
}

/** Phases of one row, with what is wrong with each. */
function phasesOf(lists, lateNs, isTimed) {
  const found = lists.start.map((start, i) => ({
    i, start, end: start + lists.length[i], task: lists.task[i], job: lists.job[i], block: lists.block[i],
    tile: lists.tile[i], phase: lists.phase[i],
    planned: lists.planned[i], plannedEnd: lists.planned[i] === null ? null : lists.planned[i] + lists.planned_length[i],
    lateness: lists.lateness[i], waited: lists.waited[i],
    release: lists.lateness[i] === null ? null : start - lists.lateness[i],
  }));
  for (const phase of found) {
    phase.late = phase.lateness !== null && phase.lateness > lateNs;
    phase.overrun = isTimed && phase.plannedEnd !== null && phase.end > phase.plannedEnd ? phase.end - phase.plannedEnd : 0;
  }
  return found;
}

/** The runs of a row, the worst first; of most results the first is the only one. */
function runsOf(row, phases) {
  if (!Array.isArray(phases)) return [{label: row.label, words: row.label, lists: phases}];
  const worst = row.worst || {}, noun = row.scenario === 'resident' ? 'hyperperiod' : 'run';
  const words = (run) => (run === worst.run ? `worst by ${worst.by}, ${time(worst.ns)}` : run === worst.before && run === worst.first ? 'the first, and before the worst'
    : run === worst.before ? 'before the worst' : 'the first');
  return phases.map((lists) => ({label: phases.length > 1 ? `${row.label} ${lists.run}` : row.label,
    words: phases.length > 1 ? `${row.label}: ${noun} ${count(lists.run)} (${words(lists.run)})` : row.label, lists}));
}

/** What of the same block ended last in (after, until]. */
function endedBefore(phases, of, after, until, sameUnit) {
  let last = null;
  for (const other of phases)
    if (other.block === of.block && other !== of && other.end > after && other.end <= until &&
        (!sameUnit || (other.phase === 1) === (of.phase === 1)) && (!last || other.end > last.end))
      last = other;
  return last;
}

function phaseName(phase, tasks) {
  return `${PHASES[phase.phase]} of ${tasks[phase.task]}, tile ${phase.tile}`;
}

/** Why a release was late, as far as the stamps of its block tell. */
function causeOf(phase, phases, tasks) {
  const waited = Math.max(phase.waited ?? 0, 0);
  if (waited > phase.lateness / 2) {
    const last = endedBefore(phases, phase, phase.release, phase.release + waited + 1, false);
    return `waited ${time(waited)} for its data or buffer` + (last ? `, until ${phaseName(last, tasks)} had ended` : '');
  }
  const last = endedBefore(phases, phase, phase.release, phase.start, true);
  return last ? `ready in time, but the block was at ${phaseName(last, tasks)}, which ended ${time(last.end - phase.release)} after the release`
              : `ready in time and its block idle: begun ${time(phase.lateness)} late by the machine itself`;
}

/** Why a phase ended after its window. */
function overrunCause(phase) {
  const length = phase.end - phase.start, planned = phase.plannedEnd - phase.planned;
  const begun = phase.start - phase.planned;
  return length > planned ? `took ${time(length)}, planned ${time(planned)}` + (begun > 0 ? `, and began ${time(begun)} into its window` : '')
                          : `began ${time(begun)} into its window and took ${time(length)} of ${time(planned)}`;
}

class Timeline {
  constructor(document, number) {
    const {result, phases} = document;
    this.number = number;
    this.tasks = result.rows[0].tasks.map((t) => t.name);
    this.lateNs = result.late_ns;
    this.rows = result.rows.filter((row) => phases[row.label]).flatMap((row) => runsOf(row, phases[row.label]).map((run) => ({
      label: run.label, words: run.words, mode: row.mode, phases: phasesOf(run.lists, result.late_ns, row.mode === 'tt'),
    })));
    this.rows.sort((a, b) => (b.mode === 'tt') - (a.mode === 'tt'));
    this.row = this.rows[0];
    this.findLanes();
    let end = 0;
    for (const row of this.rows)
      for (const phase of row.phases) end = Math.max(end, phase.end, phase.plannedEnd ?? 0);
    this.all = {begin: 0, end: end || 1};
    this.view = this.firstView();
    this.build();
  }

  /** Blocks in order, with the tasks that each runs. A lane has rows for what runs at once: one for computes beside memory,
   *  and one for writebacks beside prefetches. */
  findLanes() {
    const tasks = new Map();
    this.laneRows = 1;
    for (const row of this.rows) {
      const lastEnds = new Map();
      for (const phase of [...row.phases].sort((a, b) => a.start - b.start)) {
        if (!tasks.has(phase.block)) tasks.set(phase.block, new Set());
        tasks.get(phase.block).add(this.tasks[phase.task]);
        if (!lastEnds.has(phase.block)) lastEnds.set(phase.block, [-Infinity, -Infinity, -Infinity]);
        const ends = lastEnds.get(phase.block);
        ends.forEach((end, other) => {
          if (other !== phase.phase && phase.start < end) this.laneRows = Math.max(this.laneRows, other === 1 || phase.phase === 1 ? 2 : 3);
        });
        ends[phase.phase] = Math.max(ends[phase.phase], phase.end);
      }
    }
    this.blocks = [...tasks.keys()].sort((a, b) => a - b);
    this.laneOf = new Map(this.blocks.map((block, i) => [block, i]));
    this.labels = this.blocks.map((block) => `block ${block}: ${[...tasks.get(block)].join(', ')}`);
    this.lane = LANES[this.laneRows].height;
  }

  /** All of it, or as much as shows phases wide enough to be seen; of a worst run, where its latest release is. */
  firstView() {
    const block = this.row.phases[0]?.block;
    const first = this.row.phases.filter((p) => p.block === block);
    const some = first[Math.min(first.length - 1, 17)];
    const end = first.length > 40 ? Math.max(some.end, some.plannedEnd ?? 0) * 1.04 : this.all.end * 1.02;
    const latest = this.row.words === this.row.label ? null : this.latest();
    if (!latest || latest.start <= end) return {begin: -0.01 * end, end};
    this.marked = latest;
    const span = Math.max(end, 2 * latest.lateness);
    return {begin: latest.release - span / 3, end: latest.release + (2 * span) / 3};
  }

  build() {
    this.axisCanvas = element('canvas', {height: AXIS});
    this.canvas = element('canvas', {tabindex: 0, role: 'img',
      'aria-label': 'Timeline of planned and real phases; arrow keys move, plus and minus zoom, 0 shows all'});
    this.lanes = element('div', {class: 'lanes'}, this.canvas);
    this.tip = element('div', {class: 'tip', hidden: ''});
    this.frame = element('div', {class: 'timeline'}, this.axisCanvas, this.lanes, this.tip);
    this.status = element('p', {class: 'soft'});
    this.buttons = this.rows.map((row) => element('button', {type: 'button', onclick: () => this.choose(row)}, row.words));
    const button = (text, title, action) => element('button', {type: 'button', title, 'aria-label': title, onclick: action}, text);
    this.box = element('div', {},
      element('div', {class: 'controls'}, this.buttons.length > 1 ? this.buttons : [],
        button('+', 'zoom in', () => this.zoom(0.5)), button('\u2212', 'zoom out', () => this.zoom(2)),
        button('\u25c0', 'earlier', () => this.pan(-0.5)), button('\u25b6', 'later', () => this.pan(0.5)),
        button('all', 'show all', () => this.show(this.all.begin, this.all.end * 1.02)),
        button('next \u25bc\u2715', 'go to the next late release or overrun', () => this.next()),
        element('span', {class: 'soft'}, 'drag to move; Ctrl and wheel, or + and \u2212, to zoom; point at a phase for its numbers')),
      this.frame, this.legend(), this.status, this.causes = element('div'));
    this.listen();
    redrawn.push(() => this.draw());
    countDrawn('timelines');
  }

  legend() {
    const swatch = (draw) => {
      const canvas = element('canvas', {width: 28, height: 16});
      redrawn.push(() => { const ctx = canvas.getContext('2d'); ctx.clearRect(0, 0, 28, 16); draw(ctx, colours()); });
      return canvas;
    };
    const phase = (p) => swatch((ctx, paper) => { ctx.fillStyle = hatch(ctx, p, paper); ctx.fillRect(1, 2, 26, 12); });
    return element('div', {class: 'legend'},
      element('span', {}, swatch((ctx, paper) => { this.drawPlanned(ctx, paper, 1, 1, 26, 14); }), 'planned window'),
      PHASES.map((name, p) => element('span', {}, phase(p), name)),
      element('span', {}, swatch((ctx, paper) => this.drawLate(ctx, paper, 14, 14, true)), 'late: waited for data or buffer'),
      element('span', {}, swatch((ctx, paper) => this.drawLate(ctx, paper, 14, 14, false)), 'late though ready'),
      element('span', {}, swatch((ctx, paper) => this.drawOverrun(ctx, paper, 14, 8)), 'overrun: ends after its window'));
  }

  /* ---- moving ---- */

  width() { return widthOf(this.box.parentElement || this.box) - 2; }
  xOf(ns) { return LEFT + ((ns - this.view.begin) / (this.view.end - this.view.begin)) * (this.width() - LEFT - 8); }
  nsAt(x) { return this.view.begin + ((x - LEFT) / (this.width() - LEFT - 8)) * (this.view.end - this.view.begin); }

  show(begin, end) {
    const least = 20, most = (this.all.end - this.all.begin) * 1.1 + 20;
    const span = Math.min(Math.max(end - begin, least), most);
    const middle = (begin + end) / 2;
    begin = Math.max(Math.min(middle - span / 2, this.all.end), this.all.begin - span * 0.9);
    this.view = {begin, end: begin + span};
    this.draw();
    clearTimeout(this.noting);
    this.noting = setTimeout(() => history.replaceState(null, '', this.hash()), 200);
  }
  hash() { return `#zoom=${this.number},${encodeURIComponent(this.row.label)},${Math.round(this.view.begin)},${Math.round(this.view.end)}`; }
  zoom(factor, at = (this.view.begin + this.view.end) / 2) {
    this.show(at + (this.view.begin - at) * factor, at + (this.view.end - at) * factor);
  }
  pan(share) {
    const by = (this.view.end - this.view.begin) * share;
    this.show(this.view.begin + by, this.view.end + by);
  }
  choose(row) { this.row = row; this.draw(); }

  /** The latest release of the row in hand, if one was late. */
  latest() {
    return this.row.phases.reduce((worst, p) => (p.late && (!worst || p.lateness > worst.lateness) ? p : worst), null);
  }

  reveal(phase) {
    const span = Math.max(4 * (Math.max(phase.end, phase.plannedEnd ?? 0) - Math.min(phase.start, phase.release ?? phase.start)), 40);
    const from = Math.min(phase.start, phase.release ?? phase.start);
    this.marked = phase;
    this.show(from - span / 3, from + (2 * span) / 3);
    this.lanes.scrollTop = this.laneOf.get(phase.block) * this.lane - 80;
  }
  next() {
    const wrong = this.row.phases.filter((p) => p.late || p.overrun).sort((a, b) => a.start - b.start || a.block - b.block);
    if (!wrong.length) return;
    this.reveal(wrong[(wrong.indexOf(this.marked) + 1) % wrong.length]);
  }

  listen() {
    const {canvas} = this;
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.nsAt(event.offsetX));
    }, {passive: false});
    canvas.addEventListener('pointerdown', (event) => { this.grabbed = {x: event.offsetX, ...this.view}; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener('pointerup', () => { this.grabbed = null; });
    canvas.addEventListener('pointermove', (event) => {
      if (!this.grabbed) return this.point(event.offsetX, event.offsetY);
      const by = ((this.grabbed.x - event.offsetX) / (this.width() - LEFT - 8)) * (this.grabbed.end - this.grabbed.begin);
      this.show(this.grabbed.begin + by, this.grabbed.end + by);
    });
    canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    canvas.addEventListener('dblclick', (event) => this.zoom(0.4, this.nsAt(event.offsetX)));
    canvas.addEventListener('keydown', (event) => {
      const actions = {ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), '+': () => this.zoom(0.5),
                       '-': () => this.zoom(2), 0: () => this.show(this.all.begin, this.all.end * 1.02), n: () => this.next()};
      if (!actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    });
  }

  /* ---- what is under the pointer ---- */

  point(x, y) {
    const block = this.blocks[Math.floor(y / this.lane)], ns = this.nsAt(x);
    const slack = (this.view.end - this.view.begin) / 400;
    const hits = this.row.phases.filter((p) => p.block === block && ns >= p.start - slack && ns <= p.end + slack &&
      this.rowOf(p) === Math.floor(((y % this.lane) * this.laneRows) / this.lane));
    const hit = hits[hits.length - 1];
    this.tip.hidden = !hit || x < LEFT;
    if (this.tip.hidden) return;
    this.tip.textContent = this.words(hit);
    const left = Math.min(x + 14, this.width() - this.tip.offsetWidth - 6);
    this.tip.style.left = `${Math.max(left, 4)}px`;
    this.tip.style.top = `${y - this.lanes.scrollTop + AXIS + 18}px`;
  }
  words(p) {
    const lines = [`${phaseName(p, this.tasks)}${p.job ? `, job ${p.job}` : ''}, block ${p.block}`,
      `real: ${count(p.start)} to ${count(p.end)} ns (${time(p.end - p.start)})`];
    if (p.planned !== null) lines.push(`planned: ${count(p.planned)} to ${count(p.plannedEnd)} ns (${time(p.plannedEnd - p.planned)})`);
    if (p.lateness !== null) lines.push(`released at ${count(p.release)} ns, begun ${time(p.lateness)} later${p.late ? ': LATE' : ''}`);
    if (p.late) lines.push(causeOf(p, this.row.phases, this.tasks));
    if (p.overrun) lines.push(`OVERRUN by ${time(p.overrun)}: ${overrunCause(p)}`);
    return lines.join('\n');
  }

  /* ---- drawing ---- */

  prepare(canvas, width, height) {
    const ratio = printing ? 2 : devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const ctx = canvas.getContext('2d');
    ctx.scale(ratio, ratio);
    ctx.font = '12px system-ui, "DejaVu Sans", sans-serif';
    return ctx;
  }

  drawPlanned(ctx, paper, x, y, width, height) {
    ctx.fillStyle = paper.planned;
    ctx.strokeStyle = paper.plannedEdge;
    ctx.lineWidth = 1;
    ctx.fillRect(x, y, width, height);
    if (width > 3) ctx.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  }
  /** A triangle whose point is at the release; hollow when the phase was ready in time. */
  drawLate(ctx, paper, x, y, waited) {
    ctx.beginPath();
    ctx.moveTo(x, y); ctx.lineTo(x - 6, y - 11); ctx.lineTo(x + 6, y - 11); ctx.closePath();
    ctx.fillStyle = waited ? paper.late : paper.paper;
    ctx.strokeStyle = paper.late;
    ctx.lineWidth = 2;
    ctx.fill(); ctx.stroke();
  }
  drawOverrun(ctx, paper, x, y) {
    ctx.lineWidth = 4; ctx.strokeStyle = paper.paper; this.cross(ctx, x, y);
    ctx.lineWidth = 2; ctx.strokeStyle = paper.overrun; this.cross(ctx, x, y);
  }
  cross(ctx, x, y) {
    ctx.beginPath();
    ctx.moveTo(x - 5, y - 5); ctx.lineTo(x + 5, y + 5); ctx.moveTo(x - 5, y + 5); ctx.lineTo(x + 5, y - 5);
    ctx.stroke();
  }

  rowOf(p) { return LANES[this.laneRows].rows[p.phase]; }

  /** Where a phase stands in the canvas. */
  place(p) {
    const height = (this.lane - 4) / this.laneRows;
    return {top: this.laneOf.get(p.block) * this.lane + 2 + this.rowOf(p) * height, height: height - (this.laneRows > 1 ? 0.5 : 0)};
  }

  drawAxis(paper, width) {
    const ctx = this.prepare(this.axisCanvas, width, AXIS);
    const span = this.view.end - this.view.begin;
    const unit = unitFor(span < 1e4 ? 1 : Math.max(span, 1e5));
    const rough = span / Math.max(4, (width - LEFT) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    ctx.fillStyle = paper.ink;
    ctx.fillText(`time [${unit[0]}]`, 6, 19);
    ctx.textAlign = 'center';
    this.ticks = [];
    for (let at = Math.ceil(this.view.begin / step) * step; at <= this.view.end; at += step) {
      const x = this.xOf(at);
      if (x < LEFT) continue;
      this.ticks.push(x);
      const text = plain(Number((at / unit[1]).toPrecision(9)));
      if (x + ctx.measureText(text).width / 2 < width) ctx.fillText(text, x, 19);
      ctx.fillRect(x, 24, 1, 6);
    }
  }

  drawLanes(ctx, paper, width, height) {
    ctx.fillStyle = paper.paper;
    ctx.fillRect(0, 0, width, height);
    ctx.fillStyle = paper.line;
    for (const x of this.ticks) ctx.fillRect(x, 0, 1, height);
    this.labels.forEach((label, i) => {
      ctx.fillStyle = paper.line;
      ctx.fillRect(0, (i + 1) * this.lane - 0.5, width, 1);
      ctx.fillStyle = paper.ink;
      let text = label;
      while (ctx.measureText(text).width > LEFT - 12) text = text.slice(0, -2).replace(/\u2026?$/, '\u2026');
      ctx.fillText(text, 6, i * this.lane + this.lane / 2 + 4);
    });
  }

  drawPhases(ctx, paper) {
    const seen = this.row.phases.filter((p) => Math.max(p.end, p.plannedEnd ?? 0) >= this.view.begin &&
      Math.min(p.start, p.planned ?? p.start, p.release ?? p.start) <= this.view.end);
    for (const p of seen)
      if (p.planned !== null) {
        const {top, height} = this.place(p), x = this.xOf(p.planned);
        this.drawPlanned(ctx, paper, x, top, Math.max(this.xOf(p.plannedEnd) - x, 0.5), height);
      }
    for (const p of seen) {
      const {top, height} = this.place(p), x = this.xOf(p.start), width = Math.max(this.xOf(p.end) - x, 1.2);
      const inset = height * 0.16;
      ctx.fillStyle = width > 5 ? hatch(ctx, p.phase, paper) : paper.phase[p.phase];
      ctx.fillRect(x, top + inset, width, height - 2 * inset);
      if (width > 3) { ctx.fillStyle = paper.paper; ctx.fillRect(x, top + inset, 1, height - 2 * inset); }
      this.drawName(ctx, paper, p, x, top, width, height);
    }
    for (const p of seen) this.drawMarks(ctx, paper, p);
    return seen;
  }
  drawName(ctx, paper, p, x, top, width, height) {
    const text = `${['PF', 'C', 'WB'][p.phase]} ${p.tile}`;
    const from = Math.max(x, LEFT), room = Math.min(x + width, this.width()) - from;
    if (room < ctx.measureText(text).width + 12 || height < 13) return;
    ctx.textAlign = 'center';
    ctx.strokeStyle = paper.paper;
    ctx.lineWidth = 4;
    ctx.lineJoin = 'round';
    ctx.strokeText(text, from + room / 2, top + height / 2 + 4);
    ctx.fillStyle = paper.ink;
    ctx.fillText(text, from + room / 2, top + height / 2 + 4);
    ctx.textAlign = 'left';
  }
  drawMarks(ctx, paper, p) {
    const {top, height} = this.place(p);
    if (p.late) {
      const x = this.xOf(p.release);
      ctx.fillStyle = paper.late;
      ctx.fillRect(x, top + height * 0.45, Math.max(this.xOf(p.start) - x, 1), 2);
      this.drawLate(ctx, paper, x, top + 11, (p.waited ?? 0) > p.lateness / 2);
    }
    if (p.overrun) {
      const x = this.xOf(p.plannedEnd), end = this.xOf(p.end);
      ctx.fillStyle = paper.overrun;
      ctx.fillRect(x, top + height * 0.55, Math.max(end - x, 1), 2);
      this.drawOverrun(ctx, paper, end, top + height / 2);
    }
    if (p === this.marked) {
      ctx.strokeStyle = paper.ink;
      ctx.lineWidth = 2;
      ctx.strokeRect(this.xOf(p.start) - 3, top - 1, Math.max(this.xOf(p.end) - this.xOf(p.start), 2) + 6, height + 2);
    }
  }

  draw() {
    const paper = colours(), width = this.width();
    const height = (printing ? Math.min(this.blocks.length, 16) : this.blocks.length) * this.lane;
    this.frame.style.width = `${width + 2}px`;
    this.drawAxis(paper, width);
    const ctx = this.prepare(this.canvas, width, height);
    this.drawLanes(ctx, paper, width, height);
    ctx.save();
    ctx.beginPath(); ctx.rect(LEFT, 0, width - LEFT, height); ctx.clip();
    const seen = this.drawPhases(ctx, paper);
    ctx.restore();
    this.rows.forEach((row, i) => this.buttons[i].setAttribute('aria-pressed', row === this.row));
    this.tell(seen);
    this.frame.dataset.rows = this.laneRows;
    this.frame.dataset.view = `${this.row.label},${Math.round(this.view.begin)},${Math.round(this.view.end)},${seen.length}`;
  }

  tell(seen) {
    const late = this.row.phases.filter((p) => p.late).length, over = this.row.phases.filter((p) => p.overrun).length;
    const judged = this.row.mode === 'tt' ? `; of all shown here ${count(late)} late, ${count(over)} overruns`
                                          : '; planned windows are for reference: this mode does not keep them';
    this.status.textContent = `${this.row.words}: ${time(this.view.begin)} to ${time(this.view.end)}, ${count(seen.length)} of ` +
      `${count(this.row.phases.length)} phases in view${judged}.` +
      (printing && this.blocks.length > 16 ? ` The first 16 of ${this.blocks.length} blocks are printed.` : '');
    if (this.told !== this.row) this.tellCauses();
    this.told = this.row;
  }

  /** The worst of what went wrong, each with its cause. */
  tellCauses() {
    const late = this.row.phases.filter((p) => p.late).sort((a, b) => b.lateness - a.lateness).slice(0, 8);
    const over = this.row.phases.filter((p) => p.overrun).sort((a, b) => b.overrun - a.overrun).slice(0, 4);
    const line = (p, how, cause) => element('tr', {},
      element('td', {class: 'text'}, how), element('td', {class: 'text'}, phaseName(p, this.tasks)), element('td', {}, String(p.block)),
      element('td', {class: 'text', style: 'white-space:normal;min-width:18rem'}, cause),
      element('td', {class: 'screen'}, element('button', {type: 'button', onclick: () => this.reveal(p)}, 'show')));
    this.causes.replaceChildren(...(late.length + over.length === 0 ? [] : [element('div', {class: 'scroll'}, element('p', {class: 'caption'}, 'The worst of what is shown, and why'), element('table', {},
      element('tr', {}, ['what', 'phase', 'block', 'cause'].map((t) => element('th', {class: t === 'block' ? '' : 'text'}, t)), element('th', {class: 'screen'}, '')),
      late.map((p) => line(p, `\u25bc ${time(p.lateness)} late`, causeOf(p, this.row.phases, this.tasks))),
      over.map((p) => line(p, `\u2715 ${time(p.overrun)} over`, overrunCause(p)))))]));
  }
}

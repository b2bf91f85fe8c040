/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
/* The page: for each document a verdict first, then its tables and charts, then where it is from. */

/* ---- pieces --------------------------------------------------------------------------------- */

/** columns: [title, unit, "text" or ""]; a cell is a text, or {bad: text}. `lead`: a row to be seen. */
function table(caption, columns, rows, lead) {
  const cell = (value, column) => {
    const bad = value !== null && typeof value === 'object';
    return element('td', {class: bad ? 'bad' : column[2] || ''}, bad ? value.bad : value);
  };
  return element('div', {class: 'scroll'}, caption ? element('p', {class: 'caption'}, caption) : null, element('table', {},
    element('tr', {}, columns.map((c) => element('th', {class: c[2] || ''}, c[0], c[1] ? [element('br'), `[${c[1]}]`] : []))),
    rows.map((row, r) => element('tr', {class: r === lead && rows.length > 1 ? 'lead' : null}, row.map((value, i) => cell(value, columns[i]))))));
}

function section(title, ...content) {
  return element('section', {}, element('h3', {}, title), content);
}

function largest(values) {
  return values.reduce((most, v) => (v !== null && v !== undefined && Math.abs(v) > most ? Math.abs(v) : most), 0);
}

function columnUnit(values) {
  return unitFor(largest(values));
}

function flag(text, bad) {
  return bad ? {bad: text} : text;
}

function spread(task) {
  const {min, max} = task.response_ns;
  return max === null || min === null ? null : max - min;
}

/** A mere copy has no tasks that could respond. */
function responds(row) {
  return row.repeats > 0 && row.tasks.some((task) => spread(task) !== null);
}

function worstSpread(row) {
  return row.tasks.reduce((worst, task) => Math.max(worst, spread(task) ?? 0), 0);
}

/* ---- the verdict ---------------------------------------------------------------------------- */

function samplesWord(row) {
  return row.scenario === 'resident' ? 'hyperperiods' : 'runs';
}

const MODES = {
  tt: 'time-triggered', free: 'running free', lock: 'taking the memory in turn (lock)',
  legacy: 'as ordinary kernels', launched: 'as ordinary kernels with their launches',
  graph: 'as one CUDA graph with its launch', gated_graph: 'as one CUDA graph', priority: 'as ordinary kernels with priorities',
  partition: 'as ordinary kernels on SMs of their own', copy: 'as a mere copy of the same bytes',
};

/** What is promised first, then what it is set against. */
function rank(row) {
  const at = Object.keys(MODES).indexOf(row.mode);
  return at < 0 ? Infinity : at;
}

function modeWords(row) {
  return MODES[row.mode] || row.label;
}

/** "its makespan moves by 32 ns (0.015 % of 213.2 us) in 1000 hyperperiods" */
function movement(row) {
  if (row.jitter_ns === null || row.makespan_ns.mean === null)
    return row.releases ? `no ${samplesWord(row).slice(0, -1)} was undisturbed as a whole` : 'nothing was counted';
  return `its makespan moves by ${time(row.jitter_ns)} (${percent(row.jitter_pct)}\u00a0% of ${time(row.makespan_ns.mean)}) in ${count(row.repeats)} ${samplesWord(row)}`;
}

function latenessWords(row, lateNs) {
  if (!row.releases) return '';
  if (row.late_releases === 0)
    return ` None of ${count(row.releases)} releases was late; the worst began ${time(row.lateness_max_ns)} after its instant (late: above ${time(lateNs)}).`;
  return ` ${count(row.late_releases)} of ${count(row.releases)} releases came more than ${time(lateNs)} late, the worst ${time(row.lateness_max_ns)}.`;
}

function overrunWords(row) {
  if (!row.releases) return '';
  return row.overruns ? ` ${count(row.overruns)} phases ended after their windows.` : ' Every phase ended in its window.';
}

/** How the other modes did: what their steadiness costs or saves. */
function comparison(first, others) {
  const compared = others.filter((r) => r.jitter_ns !== null && r.makespan_ns.mean !== null);
  if (!compared.length || first.jitter_ns === null) return null;
  return compared.map((row) => {
    const longer = Number((row.makespan_ns.mean / first.makespan_ns.mean).toPrecision(3));
    return `${modeWords(row)} it moves by ${time(row.jitter_ns)} and takes ${time(row.makespan_ns.mean)}, ${longer === 1 ? '' : `${longer} times `}as long`;
  }).join('; ').replace(/^./, capital) + '.';
}

function capital(letter) {
  return letter.toUpperCase();
}

function leadingRow(result) {
  return result.rows.find((row) => row.mode === 'tt') || result.rows[0];
}

function verdict(result) {
  const lead = leadingRow(result);
  if (!lead) return {bad: true, text: 'Nothing was measured: the result has no rows.', compared: null};
  const wrong = result.rows.filter((row) => row.output_ok === false);
  const late = lead.mode === 'tt' && (lead.late_releases > 0 || lead.overruns > 0 || lead.violations_certain > 0);
  const text = (wrong.length ? `WRONG OUTPUT in ${wrong.map((r) => r.label).join(', ')}: the times of these rows mean nothing. ` : '') +
    `${modeWords(lead).replace(/^./, capital)}, ${movement(lead)}.` + latenessWords(lead, result.late_ns) + overrunWords(lead);
  return {bad: wrong.length > 0 || late, kept: lead.mode === 'tt' && lead.releases > 0 && !result.interrupted, text, compared: comparison(lead, result.rows.filter((row) => row !== lead))};
}

/** An edge with a cross where something is wrong, one with a tick where a promise was judged and kept, else a plain one. */
function verdictBox(bad, kept, text, compared) {
  return element('div', {class: bad ? 'verdict bad' : kept ? 'verdict good' : 'verdict'}, element('p', {}, text), compared ? element('p', {}, compared) : null);
}

/** Was not one phase written down (`--no-records`)? */
function onlyCounted(row) {
  const counted = row.tasks.flatMap((task) => Object.values(task.phases)).reduce((sum, phase) => sum + phase.count, 0);
  return row.trace_lost > 0 && row.trace_lost >= counted;
}

function doubts(result) {
  const found = [];
  if (result.interrupted) found.push('Interrupted: only what was measured until then is counted.');
  if (/-dirty$/.test(result.provenance.commit)) found.push('Built from a changed checkout: the commit alone does not tell what ran.');
  for (const row of result.rows) {
    if (row.output_ok === false) found.push(`${row.label}: its output differs from the reference.`);
    if (row.verified_hyperperiods < row.hyperperiods && row.output_ok !== null) found.push(`${row.label}: outputs were verified after ${count(row.verified_hyperperiods)} of ${count(row.hyperperiods)} hyperperiods, the last of each launch.`);
    if (row.best_effort && row.best_effort.unverified_launches) found.push(`${row.label}: outputs of best-effort tasks were not verified in ${count(row.best_effort.unverified_launches)} of ${count(row.verified_hyperperiods)} launches, which ended before each of their blocks had done all of its tiles once.`);
    if (row.oversubscribed) found.push(`${row.label}: oversubscribed, more blocks than the machine runs at once; lateness and durations include waiting for a core.`);
    if (row.violations_certain && row.exclusivity !== 'none') found.push(`${row.label}: ${count(row.violations_certain)} certain violations: more of a resource was used at once than there is.`);
    if (row.trace_lost && !onlyCounted(row)) found.push(`${row.label}: ${count(row.trace_lost)} raw records found no room; all counts are complete.`);
    if (row.repeats > 0 && row.repeats <= 3 && row.backend !== 'sim') found.push(`${row.label}: ${row.repeats} ${samplesWord(row)} are too few to say how often times are longer.`);
  }
  const counted = result.rows.filter(onlyCounted);
  if (counted.length) found.push(`${counted.map((row) => row.label).join(', ')}: phases were counted, not written down: violations and causes are not known.`);
  if (result.rows.some((row) => row.backend === 'sim')) found.push('Simulated: it repeats itself, so jitter over runs is 0 by construction and no result.');
  return found.map((text) => element('p', {class: 'doubt'}, text));
}

/** No launch lasted until best-effort tasks had made their outputs. */
function isPartial(row) {
  return row.output_ok === null && row.best_effort && row.best_effort.unverified_launches > 0;
}

/* ---- tables of a result --------------------------------------------------------------------- */

/** Of all jobs, disturbed ones included; a result of before deadlines were counted has none. */
const hasDeadline = (task) => task.deadline_ns > 0 && task.missed !== null;
function missed(tasks) {
  const asked = tasks.filter(hasDeadline), sum = (key) => asked.reduce((all, task) => all + task[key], 0);
  return asked.length ? flag(`${count(sum('missed'))} of ${count(sum('jobs'))}`, sum('missed') > 0) : '\u2013';
}

function rowsTable(result) {
  const rows = result.rows;
  const late = columnUnit(rows.map((r) => r.lateness_max_ns)), moves = columnUnit(rows.map(worstSpread));
  const span = columnUnit(rows.map((r) => r.makespan_ns.max)), jitter = columnUnit(rows.map((r) => r.jitter_ns));
  const dash = '\u2013', deadlines = rows.some((r) => r.tasks.some(hasDeadline));
  return table(`Late: begun more than ${time(result.late_ns)} after the release. ${count(rows[0].repeats)} ${samplesWord(rows[0])} counted, ${count(rows[0].discarded)} discarded.`,
    [['mode', '', 'text'], ...(deadlines ? [['missed', 'deadlines']] : []), ['worst lateness', late[0]], ['late', 'of releases'], ['overruns', ''], ['violations', 'certain / possible'],
     ['response spread', moves[0]], ['makespan mean', span[0]], ['makespan max', span[0]], ['jitter', jitter[0]], ['jitter', '% of mean'], ['output', '', 'text']],
    rows.map((row) => {
      const timed = row.releases > 0, any = row.repeats > 0;
      return [row.label, ...(deadlines ? [missed(row.tasks)] : []),
        timed ? flag(inUnit(row.lateness_max_ns, late), row.late_releases > 0) : dash,
        timed ? flag(`${count(row.late_releases)} of ${count(row.releases)}`, row.late_releases > 0) : dash,
        timed ? flag(count(row.overruns), row.overruns > 0) : dash,
        row.violations_certain === null ? dash : flag(`${count(row.violations_certain)} / ${count(row.violations_possible)}`, row.violations_certain > 0 && row.exclusivity !== 'none'),
        responds(row) ? inUnit(worstSpread(row), moves) : dash, any ? inUnit(Math.round(row.makespan_ns.mean), span) : dash,
        any ? inUnit(row.makespan_ns.max, span) : dash, any ? inUnit(row.jitter_ns, jitter) : dash, any ? percent(row.jitter_pct) : dash,
        isPartial(row) ? 'part' : row.output_ok === null ? dash : flag(row.output_ok ? 'ok' : 'WRONG', !row.output_ok)];
    }), 0);
}

/** How modes were run where that depends on the machine, and which were not possible on it. */
function setups(result) {
  const said = result.rows.filter((row) => row.setup).map((row) => `${row.label}: ${row.setup}.`);
  const missing = (result.left_out || []).map((mode) => `${mode.mode}: left out: ${mode.reason}.`);
  return [...said.map((text) => element('p', {class: 'soft'}, text)), ...missing.map((text) => element('p', {class: 'doubt'}, text))];
}

function exceedance(result) {
  const bounded = result.rows.filter((row) => row.repeats > 3 && row.backend !== 'sim');
  if (!bounded.length) return null;
  const row = bounded[0];
  return element('p', {class: 'soft'}, `With 95\u00a0% confidence fewer than ${percent(300 / row.repeats)}\u00a0% of makespans are longer than the largest of ${count(row.repeats)} (rule of three; as long as the machine goes on as it was).`);
}

/** All rows where they are few; else the first ones, fewer if a chart has them all, and the rest behind a button. */
const MOST_LINES = 24, MOST_DRAWN_LINES = 6;
function shortened(caption, columns, rows, drawn) {
  if (rows.length <= MOST_LINES) return table(caption, columns, rows);
  const shown = drawn ? MOST_DRAWN_LINES : MOST_LINES;
  const box = element('div', {}, table(caption, columns, rows.slice(0, shown)));
  box.append(element('p', {}, `${rows.length - shown} more${drawn ? ', drawn above' : ''}. `, element('button', {type: 'button', class: 'screen',
    onclick: () => box.replaceChildren(table(caption, columns, rows))}, 'show all')));
  return box;
}

function byTask(result, lines) {
  const names = result.rows[0].tasks.map((task) => task.name);
  return names.flatMap((_, t) => result.rows.flatMap((row) => (row.tasks[t] ? lines(row, row.tasks[t]) : [])));
}

function responseTable(result) {
  const unit = columnUnit(result.rows.flatMap((r) => r.tasks.flatMap((t) => [t.response_ns.max, t.published_ns, t.padded?.published_ns])));
  const show = (ns) => inUnit(ns, unit), deadlines = result.rows.some((r) => r.tasks.some(hasDeadline));
  const due = (task) => (deadlines ? [hasDeadline(task) ? show(task.deadline_ns) : '\u2013', missed([task])] : []);
  return shortened(`Times in ${unit[0]}. Spread: longest less shortest, over all jobs.`,
    [['task', '', 'text'], ['mode', '', 'text'], ...(deadlines ? [['deadline'], ['missed', 'of all jobs']] : []), ['max'], ['min'], ['spread'], ['p50'], ['p99'], ['published', '*: padded']],
    byTask(result, (row, task) => (task.response_ns.count
      ? [[task.name, row.label, ...due(task), show(task.response_ns.max), show(task.response_ns.min), show(spread(task)), show(task.response_ns.p50), show(task.response_ns.p99), published(row, task, unit)]] : [])));
}

/** End to end, of results whose schedule names chains. */
function chainsSection(result) {
  const chains = result.rows[0].chains || [];
  if (!chains.length) return null;
  const of = (row, c) => (row.chains || [])[c], all = result.rows.flatMap((row) => row.chains || []);
  const unit = columnUnit(all.flatMap((chain) => [chain.reaction_ns.max, chain.age_ns.max])), show = (ns) => inUnit(ns, unit);
  return section('Chains, end to end', shortened(`Times in ${unit[0]}. Reaction: from when the first task read just before an event, to the end of the first output that shows it. Age: from when the data of an output were read, to the output\u2019s end.`,
    [['chain', '', 'text'], ['mode', '', 'text'], ['reaction max'], ['min'], ['p99'], ['age max'], ['min'], ['p99'], ['outputs'], ['tasks', '', 'text']],
    chains.flatMap((_, c) => result.rows.filter((row) => of(row, c)).map((row) => {
      const {name, tasks, reaction_ns: reaction, age_ns: age} = of(row, c);
      return [name, row.label, show(reaction.max), show(reaction.min), show(reaction.p99), show(age.max), show(age.min), show(age.p99), count(age.count), tasks.join(' \u2192 ')];
    }))));
}

/** What ran free beside the planned tasks, of results whose schedule has best-effort tasks. */
function bestEffortSection(result) {
  const rows = result.rows.filter((row) => row.best_effort);
  if (!rows.length) return null;
  const all = rows.flatMap((row) => row.best_effort.tasks), unit = columnUnit(all.map((task) => task.gate_wait_ns));
  const rate = (value, by) => (value ? (value / by).toFixed(3) : '\u2013');
  const broken = rows.flatMap((row) => row.best_effort.tasks.filter((task) => task.longest_gate_overrun).map((task) => {
    const at = task.longest_gate_overrun;
    return element('li', {}, `${row.label}: ${task.name}, block ${at.block}, ${at.phase} of tile ${at.tile}, ${inUnit(at.by_ns, columnUnit([at.by_ns]))} ${columnUnit([at.by_ns])[0]} into the window of ${at.window_of}`);
  }));
  return section('Best effort', shortened(`By the plan ${rows[0].best_effort.open_share.toFixed(4)} of the time is open. Waits at the gate in ${unit[0]}. Overruns: memory phases that outlived their bound into a closed window.`,
    [['task', '', 'text'], ['mode', '', 'text'], ['jobs'], ['jobs/s'], ['GB/s'], ['tiles'], ['waits'], ['waited'], ['overruns']],
    rows.flatMap((row) => row.best_effort.tasks.map((task) =>
      [task.name, row.label, count(task.jobs), rate(task.jobs_per_s, 1), rate(task.bytes_per_s, 1e9), count(task.tiles),
       ...(row.best_effort.gated ? [count(task.gate_waits), inUnit(task.gate_wait_ns, unit), flag(count(task.gate_overruns), task.gate_overruns > 0)] : ['\u2013', '\u2013', '\u2013'])]))),
    broken.length ? element('ul', {}, broken) : null);
}

/** Longest times of phases: against what was planned, and against alone where that is known. */
function isolationTable(result) {
  const all = result.rows.flatMap((r) => r.tasks.flatMap((t) => Object.values(t.phases)));
  const unit = columnUnit(all.flatMap((p) => [p.wcet_ns, p.woet_ns])), late = columnUnit(all.map((p) => p.lateness_max_ns));
  const alone = all.some((p) => p.alone_ns !== null && p.alone_ns !== undefined);
  const share = (row, p) => (p.wcet_ns && p.woet_ns !== null ? flag(percent((100 * p.woet_ns) / p.wcet_ns), row.mode === 'tt' && p.woet_ns > p.wcet_ns) : '\u2013');
  return shortened(`WCET: planned. WOET: longest seen. Times in ${unit[0]}.` + (alone ? ' Isolation: longest in company, of longest alone.' : ' Isolation, the longest in company against alone, was not measured here.'),
    [['task', '', 'text'], ['phase', '', 'text'], ['mode', '', 'text'], ['WCET'], ['WOET'], ['WOET', '% of WCET'],
     ...(alone ? [['alone'], ['isolation', 'ratio']] : []), ['overruns'], ['worst lateness', late[0]], ['late']],
    byTask(result, (row, task) => Object.entries(task.phases).filter(([, p]) => p.count > 0).map(([name, p]) =>
      [task.name, name, row.label, inUnit(p.wcet_ns, unit), inUnit(p.woet_ns, unit), share(row, p),
       ...(alone ? [inUnit(p.alone_ns, unit), p.alone_ns ? (p.woet_ns / p.alone_ns).toFixed(3) : '\u2013'] : []),
       row.releases ? flag(count(p.overruns), p.overruns > 0) : '\u2013', inUnit(p.lateness_max_ns, late),
       p.lateness_max_ns === null ? '\u2013' : flag(count(p.late_releases), p.late_releases > 0)])));
}

function trialsTable(result) {
  const trials = result.legacy_trials || [];
  if (!trials.length) return null;
  const unit = columnUnit(trials.flatMap((t) => [t.alone_ns, t.together_ns]));
  const sorted = trials.filter((t) => t.chosen).concat(trials.filter((t) => !t.chosen));
  return section('Ordinary kernels: the ways that were tried', shortened(`Times in ${unit[0]}; the chosen way of each task first.`,
    [['task', '', 'text'], ['way', '', 'text'], ['alone'], ['together'], ['chosen', '', 'text'], ['output', '', 'text']],
    sorted.map((t) => [t.task, t.way, inUnit(t.alone_ns, unit), inUnit(t.together_ns, unit), t.chosen ? 'yes' : '', flag(t.output_ok ? 'ok' : 'WRONG', !t.output_ok)])));
}

/* ---- distributions -------------------------------------------------------------------------- */

function option(value, text) {
  return element('option', {value}, text);
}

/** A curve of a thinned distribution. */
function curve(row, distribution, how, above) {
  const {ns, upto} = distribution, all = upto[upto.length - 1], least = above ? ns[0] : 0;
  return {name: row.label, ns: ns.map((v) => v - least),
          y: upto.map((n, i) => (how === 'tail' ? (100 * (all - (i ? upto[i - 1] : 0))) / all : (100 * n) / all))};
}

function distributionChart(document) {
  const {result, samples} = document;
  const names = result.rows[0].tasks.map((t) => t.name);
  const what = element('select', {'aria-label': 'of what'}, option('', 'makespan'), names.map((n) => option(n, `response time of ${n}`)));
  const how = element('select', {'aria-label': 'as what'}, option('cdf', 'share of samples not longer (CDF)'), option('tail', 'share at least as long, logarithmic (tail)'));
  const from = element('select', {'aria-label': 'counted from'}, option('above', "time above each mode's shortest"), option('', 'time'));
  if (result.rows.every((row) => !row.jitter_ns)) from.value = '';
  const spec = () => {
    const above = from.value === 'above', tail = how.value === 'tail';
    const curves = result.rows.filter((r) => samples[r.label]).map((r) => [r, what.value ? samples[r.label].tasks[what.value] : samples[r.label].makespan])
      .filter(([, d]) => d && d.ns.length).map(([r, d]) => curve(r, d, how.value, above));
    const [least, most] = extremes(curves.map((c) => c.ns)), unit = unitFor(most > 1e4 ? Math.max(most, 1e5) : 1);
    const before = Math.max((most - least) * 1e-4, 1e-3);
    for (const c of curves) {
      if (c.ns[c.ns.length - 1] < most && !tail) { c.ns.push(most); c.y.push(100); }
      c.ns.unshift(c.ns[0] - before);
      c.y.unshift(tail ? 100 : 0);
    }
    const log = most > 8 * Math.max(least, 1);
    return {kind: 'steps', logX: log && !above, nearZero: above ? result.provenance.machine.clock_step_ns / unit[1] || 1 : null, logY: tail, yRange: tail ? undefined : [0, 103],
      xLabel: `${what.value ? `response time of ${what.value}` : 'makespan'}${above ? " above its mode's shortest" : ''} [${unit[0]}]${log && !above ? ', logarithmic' : ''}`,
      yLabel: tail ? '% at least as long' : '% not longer', series: curves.map((c) => ({name: c.name, x: c.ns.map((v) => v / unit[1]), y: c.y}))};
  };
  const chart = lineChart(spec);
  for (const select of [what, how, from]) select.addEventListener('change', chart.draw);
  return element('div', {}, element('div', {class: 'controls'}, what, how, from, element('span', {class: 'soft'}, 'drag over the chart to zoom, double-click for all')), chart.box);
}

function histogramBox(row, lateNs) {
  const box = element('figure', {style: 'margin:.3rem 0'});
  redrawn.push(() => box.replaceChildren(latenessHistogram(row, lateNs, widthOf(box))));
  countDrawn('histograms');
  return element('div', {}, element('p', {}, `${row.label}: ${count(row.late_releases)} of ${count(row.releases)} releases came more than ${time(lateNs)} late (hatched: buckets of nothing else).`), box);
}

/* ---- provenance ----------------------------------------------------------------------------- */

function facts(entries) {
  return element('dl', {}, entries.filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([name, value]) => [element('dt', {}, name), element('dd', {}, String(value))]));
}

function provenance(data, file) {
  const p = data.provenance, m = p.machine, known = (value, unit) => (value ? `${count(value)} ${unit}` : null);
  return section('Where this comes from', facts([
    ['file', file], ['machine', `${m.name} (${m.backend})`], ['GPU', m.uuid], ['driver', m.driver], ['measured', p.date], ['command', p.command],
    ['ttprem', `${p.ttprem}, commit ${p.commit}`], ['compiler', p.compiler], ['system', p.kernel], ['seed', p.seed],
    ['schedule', data.schedule && `${data.schedule.name}, hyperperiod ${time(data.schedule.hyperperiod_ns)}, SHA-256 ${data.schedule.sha256}`],
    ['clock step', known(m.clock_step_ns, 'ns')], ['reading the clock', known(m.clock_read_ns, 'ns')], ['clock skew, at most', known(m.clock_skew_ns, 'ns')],
    ['cores', known(m.cores, '')], ['resident blocks', known(m.max_blocks, '')], ['scratchpad of a block', known(m.scratch_bytes, 'bytes')],
    ['copy, read + written', known(m.bandwidth_bytes_per_s, 'bytes/s')]]));
}

/* ---- a result ------------------------------------------------------------------------------- */

const timelines = [];

function timelineSection(document, number) {
  const {result} = document;
  const title = 'Scheduled against real phases';
  if (!document.phases || !Object.keys(document.phases).length)
    return section(title, element('p', {class: 'soft'}, document.result.phases ? 'The file with the phases could not be used.'
      : document.result.rows.some(onlyCounted) ? 'There is nothing to draw: phases were counted, not written down.'
      : 'This result has no raw phases beside it: it was written to stdout, has modes without phases only, or is older than they are.'));
  const timeline = new Timeline(document, number), kept = document.result.phases;
  timelines[number] = timeline;
  return section(title, element('p', {}, (result.rows.some((row) => row.worst) ? 'The worst counted hyperperiod of each mode, the one before it and the first: the buttons choose.' : 'The first counted hyperperiod of each mode.') + ' Pale boxes with an edge: the planned windows; hatched boxes in them: what happened.' +
    (kept.blocks < kept.all_blocks ? ` ${kept.blocks} of ${kept.all_blocks} blocks are here: those with the worst lateness, and the first ones of every task.` : '')), timeline.box);
}

function resultSection(document, number) {
  const {result} = document, said = verdict(result);
  const heading = element('h2', {id: `document-${number}`}, result.schedule.name);
  const intro = element('p', {class: 'soft'}, `${result.provenance.machine.name} (${result.provenance.machine.backend}), ${result.provenance.date ?? 'no date'}, ${document.file}`);
  const head = [heading, verdictBox(said.bad, said.kept, said.text, said.compared), intro];
  if (!result.rows.length) return element('article', {}, head, provenance(result, document.file));
  const timed = result.rows.filter((row) => row.releases > 0);
  return element('article', {class: 'result'}, head, doubts(result),
    section('The modes side by side', rowsTable(result), setups(result), exceedance(result), paddedTable(result)),
    timelineSection(document, number),
    section('How times are distributed', document.samples ? distributionChart(document) : element('p', {class: 'soft'}, 'The raw samples are not beside the result.')),
    timed.length ? section('How late releases came', timed.map((row) => histogramBox(row, result.late_ns))) : null,
    causesSection(result),
    section('Response times', responseTable(result)),
    chainsSection(result),
    bestEffortSection(result),
    section('Phases: planned, seen, in isolation', isolationTable(result)),
    trialsTable(result), provenance(result, document.file));
}

/* ---- findings ------------------------------------------------------------------------------- */

function nameOf(column) {
  return column.name.replaceAll('_', ' ');
}

function withUnit(column) {
  return column.unit ? `${nameOf(column)} [${column.unit}]` : nameOf(column);
}

/** The rows of a table, grouped by the chart's series column in the order of their appearance. */
function groupRows(table, chart) {
  const at = (name) => (name ? table.columns.findIndex((c) => c.name === name) : -1);
  const columns = {x: at(chart.x), y: at(chart.y), low: at(chart.low), high: at(chart.high), series: at(chart.series)};
  const groups = new Map();
  for (const row of table.rows) {
    const name = columns.series < 0 ? '' : row[columns.series];
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push({x: row[columns.x], y: row[columns.y], low: columns.low < 0 ? null : row[columns.low], high: columns.high < 0 ? null : row[columns.high]});
  }
  return {columns, groups};
}

function pointsChart(table, chart) {
  const {columns, groups} = groupRows(table, chart);
  const names = [...new Set(table.rows.map((row) => row[columns.x]))];
  const textual = names.some((x) => typeof x === 'string');
  const series = [...groups].map(([name, rows]) => {
    const placed = rows.filter((r) => r.x !== null && r.y !== null).map((r) => ({...r, x: textual ? names.indexOf(r.x) : r.x}));
    placed.sort((a, b) => a.x - b.x);
    const ranged = columns.low >= 0 && columns.high >= 0;
    return {name: name === '' ? chart.y : plain(name), x: placed.map((r) => r.x), y: placed.map((r) => r.y),
            low: ranged ? placed.map((r) => r.low) : null, high: ranged ? placed.map((r) => r.high) : null};
  }).filter((s) => s.x.length);
  if (!series.length) return element('p', {class: 'soft'}, 'No numbers to draw.');
  /* A logarithm knows no 0: linear up to the least of the others. */
  const logX = chart.log_x && !textual && needsLogarithm(series.map((s) => s.x)), [least] = extremes(series.map((s) => s.x));
  const logY = chart.log_y && needsLogarithm(series.flatMap((s) => [s.y, s.low, s.high]));
  const nearZero = logX && least === 0 ? extremes(series.map((s) => s.x.filter((x) => x > 0)))[0] : null;
  for (const s of series) s.x = distinct(s.x);
  return lineChart(() => ({kind: chart.kind, logX: logX && nearZero === null, nearZero: Number.isFinite(nearZero) ? nearZero : null, logY, series,
    xLabel: withUnit(table.columns[columns.x]) + (logX ? ', logarithmic' : ''),
    yLabel: withUnit(table.columns[columns.y]) + (logY ? ', logarithmic' : '')})).box;
}

/** uPlot needs ascending x: equal ones are set apart by less than can be seen. */
function distinct(xs) {
  const sorted = xs.map((x, i) => [x, i]).sort((a, b) => a[0] - b[0]);
  const span = sorted[sorted.length - 1][0] - sorted[0][0] || 1;
  for (let i = 1; i < sorted.length; ++i)
    if (sorted[i][0] <= sorted[i - 1][0]) sorted[i][0] = sorted[i - 1][0] + span * 1e-7;
  const made = new Array(xs.length);
  for (const [x, i] of sorted) made[i] = x;
  return made;
}

function tableOf(findings, chart) {
  return findings.tables.find((t) => t.name === chart.table);
}
function valuesOf(findings, chart) {
  const data = tableOf(findings, chart), at = data.columns.findIndex((c) => c.name === chart.y);
  return data.rows.map((row) => row[at]);
}
function unitOf(findings, chart) {
  return tableOf(findings, chart).columns.find((c) => c.name === chart.y).unit;
}

function chartOf(findings, chart) {
  const data = tableOf(findings, chart);
  const {columns, groups} = groupRows(data, chart);
  if (chart.kind === 'heat_map') {
    const names = [...new Set(data.rows.map((row) => row[columns.x]))];
    const shared = findings.charts.filter((c) => c.kind === 'heat_map' && c.y === chart.y && unitOf(findings, c) === unitOf(findings, chart));
    return heatMap({shared: shared.length > 1, all: shared.flatMap((c) => valuesOf(findings, c)), xLabel: withUnit(data.columns[columns.x]), valueLabel: withUnit(data.columns[columns.y]), log: chart.log_y, columns: names,
      rows: [...groups].map(([name, rows]) => ({name, values: names.map((x) => rows.find((r) => r.x === x)?.y ?? null)}))});
  }
  if (chart.kind === 'bars') {
    const names = [...new Set(data.rows.map((row) => row[columns.x]))];
    return barChart({valueLabel: withUnit(data.columns[columns.y]), log: chart.log_y, groups: names.map((x) => ({name: x,
      bars: [...groups].flatMap(([name, rows]) => rows.filter((r) => r.x === x).map((r) => ({name: name === '' ? '' : plain(name), value: r.y, low: r.low, high: r.high})))}))});
  }
  return pointsChart(data, chart);
}

function findingsSection(document, number) {
  const {findings} = document;
  const wrong = findings.output_ok === false;
  return element('article', {class: 'findings'}, element('h2', {id: `document-${number}`}, findings.title),
    verdictBox(wrong || !findings.complete || findings.kept === false, findings.kept === true, (wrong ? 'WRONG OUTPUT: these numbers mean nothing. ' : '') + (findings.verdict || 'No verdict was reached.'), null),
    findings.complete ? null : element('p', {class: 'doubt'}, 'Interrupted before its end: what is here is right as far as it goes.'),
    findings.question ? element('p', {class: 'soft'}, `The question: ${findings.question}`) : null,
    findings.notes.map((note) => element('p', {}, note)),
    element('div', {class: 'charts'}, findings.charts.map((chart) => section(chart.title, chartOf(findings, chart)))),
    findings.tables.map((t) => section(t.title, shortened(t.source ? `Not measured here: ${t.source}` : null,
      t.columns.map((c, i) => [nameOf(c), c.unit, t.rows.every((row) => typeof row[i] !== 'number') && t.rows.some((row) => row[i] !== null) ? 'text' : '']),
      t.rows.map((row) => row.map(plain)), findings.charts.some((chart) => chart.table === t.name)))),
    provenance(findings, document.file));
}

/* ---- the page ------------------------------------------------------------------------------- */

function titleOf(document) {
  return document.result ? document.result.schedule.name : document.findings.title;
}

/** Several results of one schedule are told apart by their files. */
function entryOf(document, documents) {
  const title = titleOf(document), alike = documents.filter((other) => titleOf(other) === title);
  return alike.length > 1 ? `${title} (${document.file.replace(/^.*\//, '')})` : title;
}

function contents(documents) {
  if (documents.length < 2) return null;
  return element('nav', {}, element('ol', {}, documents.map((d, i) => element('li', {}, element('a', {href: `#document-${i}`}, entryOf(d, documents)),
    ' \u2013 ', d.result ? verdict(d.result).text : d.findings.verdict || 'no verdict'))));
}

function refusals(refused) {
  return refused.map(({file, reason}) => element('p', {class: 'doubt'}, `Not reported: ${file}: ${reason}`));
}

/** "#zoom=0,tt,1000,5000": document, row, and the times between which its timeline shows. */
function followAddress() {
  const found = /^#zoom=(\d+),([^,]*),(-?\d+),(-?\d+)$/.exec(location.hash);
  const timeline = found && timelines[Number(found[1])];
  if (!timeline || Number(found[4]) <= Number(found[3])) return;
  const row = timeline.rows.find((r) => r.label === decodeURIComponent(found[2]));
  if (row) timeline.row = row;
  timeline.show(Number(found[3]), Number(found[4]));
  timeline.box.scrollIntoView({block: 'center'});
}

addEventListener('error', (event) => { document.body.dataset.error = `${event.message} (${event.filename}:${event.lineno})`; });

function buildPage() {
  const {documents, refused} = JSON.parse(document.getElementById('documents').textContent);
  for (const d of documents) d.result?.rows.sort((a, b) => rank(a) - rank(b));
  const main = element('main', {});
  main.append(element('h1', {}, documents.length === 1 ? titleOf(documents[0]) : 'Measured with ttprem'));
  main.append(...refusals(refused), contents(documents) ?? '');
  document.body.append(main);
  main.append(...documents.map((d, i) => (d.result ? resultSection(d, i) : findingsSection(d, i))));
  if (documents.length === 1) main.querySelector('h2').remove();
  main.append(element('p', {class: 'soft'}, `Made by ttprem ${document.body.dataset.ttprem}. What the numbers mean is in its docs/timing-method.md.`));
  drawAgain();
  followAddress();
  addEventListener('hashchange', followAddress);
  document.body.dataset.ready = Object.entries(drawnCounts).sort().map(([kind, n]) => `${kind}=${n}`).join(' ');
}

buildPage();

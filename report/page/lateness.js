/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
/* Why releases were late, and how modes without releases do when their results count at a fixed instant. */

const CAUSES = {
  clock: 'seen within two clock steps', cold: 'cold start', buffer: 'buffer not free', data: 'data late',
  unit: 'unit not free', job: 'job before it late', handover: 'hand-over late', executor: 'executor late',
};

/** [{task, name, late, causes, cell}] of the phases of a row that were late or made others late. */
function latePhases(row) {
  return row.tasks.flatMap((task) => Object.entries(task.late_causes || {}).map(([name, causes]) =>
    ({task: task.name, name, causes, late: task.phases[name]?.late_releases ?? 0, wcet: task.phases[name]?.wcet_ns ?? null})));
}

/** What the late releases waited for. A count without raw records has no cause. */
function causesTable(row) {
  const late = latePhases(row).filter((phase) => phase.late > 0);
  const seen = Object.keys(CAUSES).filter((cause) => late.some((phase) => phase.causes[cause] > 0));
  const untold = (phase) => phase.late - seen.reduce((sum, cause) => sum + phase.causes[cause], 0);
  const some = late.some((phase) => untold(phase) > 0);
  return shortened(`${row.label}: ${count(row.late_releases)} late releases, by what they waited for.`,
    [['task', '', 'text'], ['phase', '', 'text'], ['late'], ...seen.map((cause) => [CAUSES[cause]]), ...(some ? [['without raw records']] : [])],
    late.map((phase) => [phase.task, phase.name, count(phase.late), ...seen.map((cause) => count(phase.causes[cause])), ...(some ? [count(untold(phase))] : [])]));
}

/** With what the waits of the late releases began, in words. */
function firstCause(cause) {
  const phase = `${cause.joined ? 'joined ' : ''}${cause.phase} of ${cause.task}`;
  switch (cause.kind) {
    case 'window': return `the ${phase} took longer than its window`;
    case 'handover': return `the hand-over from ${cause.from} to ${cause.task} took longer than planned`;
    case 'executor': return `nothing held up the ${phase}: the executor began it late`;
    case 'clock': return `the ${phase} was seen within two clock steps`;
    case 'cold': return `cold start of the ${phase}`;
    default: return 'not known: raw records are lost';
  }
}

/** Where the chains of waits began, over all blocks and tasks. Older results do not say. */
function firstCausesTable(row) {
  const causes = row.first_causes || [];
  if (!causes.length) return null;
  const known = causes.filter((cause) => cause.kind !== 'lost');
  const told = known.reduce((sum, cause) => sum + cause.late_releases, 0);
  const unit = columnUnit(causes.flatMap((cause) => [cause.lateness_max_ns, cause.widen_ns]));
  const at = columnUnit(causes.map((cause) => cause.at_ns));
  return shortened(`${row.label}: ${count(told)} late ${told === 1 ? 'release has' : 'releases have'} ${count(known.length)} first ${known.length === 1 ? 'cause' : 'causes'}. With so much longer a window, or gap between the tasks, none of them would have waited.`,
    [['first cause', '', 'text'], ['late releases'], ['worst lateness', unit[0]], ['longer by', unit[0]], ['first in run'], ['block'], ['job'], ['tile'], ['at', at[0]]],
    causes.map((cause) => [firstCause(cause), count(cause.late_releases), inUnit(cause.lateness_max_ns, unit), cause.widen_ns > 0 ? inUnit(cause.widen_ns, unit) : '\u2013',
      count(cause.run), count(cause.block), count(cause.job), count(cause.tile), inUnit(cause.at_ns, at)]));
}

/** Which windows to widen, and by how much; of results that do not name first causes. */
function blameTable(row) {
  if (row.first_causes) return null;
  const blamed = latePhases(row).filter((phase) => phase.causes.blamed > 0).sort((a, b) => b.causes.blamed - a.causes.blamed);
  if (!blamed.length) return null;
  const unit = columnUnit(blamed.flatMap((phase) => [phase.wcet, phase.causes.widen_ns]));
  return shortened(`${row.label}: what they waited for, directly or not. With so much longer a window none of them would have waited.`,
    [['task', '', 'text'], ['phase', '', 'text'], ['late ones that waited for it'], ['its window', unit[0]], ['longer by', unit[0]]],
    blamed.map((phase) => [phase.task, phase.name, count(phase.causes.blamed), inUnit(phase.wcet, unit),
      phase.causes.widen_ns > 0 ? inUnit(phase.causes.widen_ns, unit) : '\u2013']));
}

function causesSection(result) {
  const late = result.rows.filter((row) => row.late_releases > 0 && !onlyCounted(row) && latePhases(row).length > 0);
  return late.length ? section('Why they were late', late.map((row) => [firstCausesTable(row), causesTable(row), blameTable(row)])) : null;
}

/* ---- padding -------------------------------------------------------------------------------- */

/** When a task's results count: by its own publish_ns or, where no plan says it, by padding. */
function published(row, task, unit) {
  return task.published_ns === null && row.mode !== 'tt' && task.padded ? `${inUnit(task.padded.published_ns, unit)}*` : inUnit(task.published_ns, unit);
}

/** What a padding says at an instant: of the longest time its own keys, of a percentile a group. */
function missedOf(padded, at) {
  const apart = (count_, disturbed) => `${count(count_)}${disturbed ? `+${count(disturbed)}` : ''}`;
  return at ? flag(`${apart(at.missed, at.missed_disturbed)} of ${apart(padded.judged, padded.judged_disturbed)}`, at.missed > 0) : '\u2013';
}

function paddedTable(result) {
  const rows = result.rows.filter((row) => row.padded);
  if (!rows.length) return null;
  const lines = rows.flatMap((row) => [...row.tasks.map((task) => [task.name, row, task.padded]), ['makespan', row, row.padded]].filter((line) => line[2]));
  const unit = columnUnit(lines.map((line) => line[2].published_ns));
  const cells = (padded, at) => [at ? inUnit(at.published_ns, unit) : '\u2013', missedOf(padded, at)];
  return shortened(`* Padded: what if every output counted at one fixed instant, a time of the first half of its jobs plus one step of the clock? The second half shows how many would miss it; disturbed jobs stand after a +.`,
    [['padded', '', 'text'], ['mode', '', 'text'], ['set by', 'jobs'], ['p99.99', unit[0]], ['missed'], ['p99.999', unit[0]], ['missed'], ['longest', unit[0]], ['missed']],
    lines.map(([name, row, padded]) => [name, row.label, count(padded.trained), ...cells(padded, padded.p9999), ...cells(padded, padded.p99999), ...cells(padded, padded)]));
}

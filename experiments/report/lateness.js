'use strict';
/* Why releases were late, and how modes without releases do when their results count at a fixed instant. */

const CAUSES = {
  clock: 'seen within two clock steps', cold: 'cold start', buffer: 'buffer not free', data: 'data late',
  unit: 'unit not free', job: 'job before it late', executor: 'executor late',
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

/** Which windows to widen, and by how much. */
function blameTable(row) {
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
  return late.length ? section('Why they were late', late.map((row) => [causesTable(row), blameTable(row)])) : null;
}

/* ---- padding -------------------------------------------------------------------------------- */

/** On time a plan says when results count; other modes are padded. */
function isPadded(row) {
  return row.mode !== 'tt' && row.padded;
}

/** When a task's results count: by its own publish_ns, or by padding. */
function published(row, task, unit) {
  return task.published_ns === null && isPadded(row) && task.padded ? `${inUnit(task.padded.published_ns, unit)}*` : inUnit(task.published_ns, unit);
}

function paddedTable(result) {
  const rows = result.rows.filter(isPadded);
  if (!rows.length) return null;
  const unit = columnUnit(rows.map((row) => row.padded.published_ns));
  const sum = (row, what) => row.tasks.reduce((all, task) => all + (task.padded ? task.padded[what] : 0), 0);
  const share = (missed, all) => flag(`${count(missed)} of ${count(all)}`, missed > 0);
  return table(`* Padded: the results count at the longest of the first half of the ${samplesWord(rows[0])} and one step of the clock, whatever the time that each of them takes; the second half shows how often they were not there.`,
    [['padded', '', 'text'], ['makespan counts at', unit[0]], ['set by', samplesWord(rows[0])], ['missed', samplesWord(rows[0])], ['missed', 'jobs']],
    rows.map((row) => [`${row.label}*`, inUnit(row.padded.published_ns, unit), count(row.padded.trained), share(row.padded.missed, row.padded.judged),
      sum(row, 'judged') ? share(sum(row, 'missed'), sum(row, 'judged')) : '\u2013']));
}

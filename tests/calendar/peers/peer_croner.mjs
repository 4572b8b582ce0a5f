// Answers the questions of compare.py by croner, one line each: seconds UTC, "never" or "refused: ...".
// Reads lines "expression, zone, seconds UTC" with tabs between. All settings are croner's own defaults.
import { createInterface } from 'node:readline';
import { Cron } from 'croner';

function answer(expression, zone, seconds) {
  let cron;
  try {
    cron = new Cron(expression, { timezone: zone, paused: true });
  } catch (fault) {
    return `refused: ${fault.message}`;
  }
  try {
    const due = cron.nextRun(new Date(seconds * 1000));
    return due === null ? 'never' : String(Math.floor(+due / 1000));
  } catch (fault) {
    return `broken: ${fault.name}`;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [expression, zone, seconds] = line.split('\t');
  console.log(answer(expression, zone, +seconds).replaceAll('\n', ' '));
}

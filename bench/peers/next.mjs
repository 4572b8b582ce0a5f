// How many due times croner and cron-parser answer: node next.mjs SECONDS ZONE EXPRESSION...
// Prints lines "library, expression, answers a second" with tabs between. Both are parsed once and asked for the
// time behind the last one, from 2026 on and again from there at the end of 2045, as bench/calendar_next.c does.
// Time is that of the processor, other threads of the same process (the collector's) included.
import { Cron } from 'croner';
import { CronExpressionParser } from 'cron-parser';

const [seconds, zone, ...expressions] = process.argv.slice(2);
const START = Date.UTC(2026, 0, 1), END = Date.UTC(2046, 0, 1), BATCH = 20;

function spentMicroseconds(since) {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

// Answers a second; what comes first warms up.
function measure(step, limit) {
  const run = (microseconds) => {
    const begun = process.cpuUsage();
    let answers = 0;
    while (spentMicroseconds(begun) < microseconds) {
      for (let i = 0; i < BATCH; i++) step();
      answers += BATCH;
    }
    return (answers * 1e6) / spentMicroseconds(begun);
  };
  run(limit * 3e5);
  return run(limit * 1e6);
}

for (const expression of expressions) {
  let due = new Date(START);
  const cron = new Cron(expression, { timezone: zone, paused: true });
  const croner = measure(() => {
    due = cron.nextRun(due);
    if (+due > END) due = new Date(START);
  }, +seconds);
  const start = () => CronExpressionParser.parse(expression, { tz: zone, currentDate: new Date(START) });
  let parsed = start();
  const parser = measure(() => {
    if (+parsed.next() > END) parsed = start();
  }, +seconds);
  console.log(`croner\t${expression}\t${croner.toFixed(1)}`);
  console.log(`cron-parser\t${expression}\t${parser.toFixed(1)}`);
}

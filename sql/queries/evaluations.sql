-- What did the evaluations report, round by round? Columns: round, suite, backend, policy, metric, value, low and high (bootstrap
-- interval over tasks), tasks, samples, timer ('' where time plays no part). metric is a pattern of LIKE.
-- :run_id latest
-- :suite %
-- :metric %
SELECT round, suite, backend, policy, metric, value, low, high, tasks, samples, timer FROM evaluations
WHERE run_id = $run_id AND suite LIKE $suite AND metric LIKE $metric
ORDER BY suite, backend, policy, metric, round;

-- Do reward and success rise with the training steps? Columns: round, stage (proposer or coder), step, completions, mean_reward,
-- pass_rate (coder: share correct; proposer: share correct of the kernels written for its modules), mean_tokens, median_speedup (of
-- correct kernels, by `timer`; a run has one timer).
-- :run_id latest
SELECT round, 'proposer' AS stage, step, count(*) AS completions, avg(reward) FILTER (reward_kind <> 'unscored') AS mean_reward,
       sum(k) / nullif(sum(n), 0) AS pass_rate, avg(tokens) AS mean_tokens, NULL::DOUBLE AS median_speedup, '' AS timer
FROM proposals WHERE run_id = $run_id AND stage = 'proposer' GROUP BY round, step
UNION ALL
SELECT round, 'coder', step, count(*), avg(reward), avg(correct::INT), avg(tokens), median(speedup) FILTER (correct),
       coalesce(max(timer) FILTER (correct), '')
FROM outcomes WHERE run_id = $run_id AND role = 'train' GROUP BY round, step
ORDER BY round, stage DESC, step;

-- How did the two models change, round by round? Columns: round (0 is the base), proposer_reward (mean over scored proposals of the
-- Proposer's training), valid_share (of all modules proposed in the round), frontier_occupancy (share of the proposed modules that
-- were tried for which 0.2 <= k/n <= 0.8), coder_pass_rate (share correct of the samples of the Coder's training), pass_at_1 and
-- fast_1_at_1 (the suite, after the round). Empty where a round has nothing to say.
-- :run_id latest
-- :suite mini
WITH rounds AS (
    SELECT round FROM stage_runs WHERE run_id = $run_id
    UNION SELECT round FROM evaluations WHERE run_id = $run_id
    UNION SELECT round FROM proposals WHERE run_id = $run_id
), rewards AS (
    SELECT round, avg(reward) AS proposer_reward FROM proposals
    WHERE run_id = $run_id AND stage = 'proposer' AND reward IS NOT NULL AND reward_kind <> 'unscored' GROUP BY round
), valid AS (
    SELECT round, avg(valid::INT) AS valid_share FROM validations WHERE run_id = $run_id GROUP BY round
), tried AS (
    SELECT round, module_id, sum(k) / sum(n) AS p FROM proposals
    WHERE run_id = $run_id AND module_id <> '' AND n > 0 GROUP BY round, module_id
), frontier AS (
    SELECT round, avg((p BETWEEN 0.2 AND 0.8)::INT) AS frontier_occupancy FROM tried GROUP BY round
), coder AS (
    SELECT round, avg(correct::INT) AS coder_pass_rate FROM outcomes WHERE run_id = $run_id AND role = 'train' GROUP BY round
), suite AS (
    SELECT round, max(value) FILTER (metric = 'pass@1') AS pass_at_1,
           max(value) FILTER (metric IN ('fast_1@1', 'fast_1.0@1')) AS fast_1_at_1
    FROM evaluations WHERE run_id = $run_id AND suite = $suite GROUP BY round
)
SELECT round, proposer_reward, valid_share, frontier_occupancy, coder_pass_rate, pass_at_1, fast_1_at_1
FROM rounds LEFT JOIN rewards USING (round) LEFT JOIN valid USING (round) LEFT JOIN frontier USING (round)
     LEFT JOIN coder USING (round) LEFT JOIN suite USING (round)
ORDER BY round;

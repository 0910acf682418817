-- How many tokens did each stage sample, and what did they cost? Columns: round, stage, role (propose, or the role of the Coder's
-- samples), completions, tokens, mean_tokens, cut_off (share that hit the limit of length; unknown for proposals), stage_minutes
-- (wall time of the whole stage: on one GPU these are GPU minutes), tokens_per_s (of all the stage's tokens over its sampling time).
-- :run_id latest
WITH spent AS (
    SELECT round, stage, 'propose' AS role, count(*) AS completions, sum(tokens)::BIGINT AS tokens, avg(tokens) AS mean_tokens, NULL::DOUBLE AS cut_off
    FROM proposals WHERE run_id = $run_id GROUP BY round, stage
    UNION ALL
    SELECT round, stage, role, count(*), sum(tokens)::BIGINT, avg(tokens), avg((finish_reason = 'length')::INT)
    FROM samples WHERE run_id = $run_id GROUP BY round, stage, role
), stages AS (
    SELECT round, stage, seconds, sampling_s FROM stage_runs WHERE run_id = $run_id
)
SELECT round, stage, role, completions, tokens, mean_tokens, cut_off, seconds / 60 AS stage_minutes,
       sum(tokens) OVER (PARTITION BY round, stage) / nullif(sampling_s, 0) AS tokens_per_s
FROM spent LEFT JOIN stages USING (round, stage)
ORDER BY round, stage_order(stage), role;

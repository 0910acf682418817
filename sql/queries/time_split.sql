-- Where does the wall time go? Columns: round, stage, seconds, sampling, verifying, training, orchestration (shares of the seconds; the
-- last is what the first three leave), peak_memory_mb. The row `all stages` sums them; `whole run` holds them against the time from the
-- run's first to its last write, which also counts what lies between stages (and, of a resumed run, the pause).
-- :run_id latest
WITH stages AS (
    SELECT round, stage, seconds, sampling_s, verifying_s, training_s, peak_memory_mb, stage_order(stage) AS place
    FROM stage_runs WHERE run_id = $run_id
    UNION ALL
    SELECT NULL, 'all stages', sum(seconds), sum(sampling_s), sum(verifying_s), sum(training_s), max(peak_memory_mb), 98
    FROM stage_runs WHERE run_id = $run_id
    UNION ALL
    SELECT NULL, 'whole run', (SELECT epoch(updated_at) - epoch(started_at) FROM runs WHERE run_id = $run_id),
           sum(sampling_s), sum(verifying_s), sum(training_s), max(peak_memory_mb), 99
    FROM stage_runs WHERE run_id = $run_id
)
SELECT round, stage, seconds, sampling_s / nullif(seconds, 0) AS sampling, verifying_s / nullif(seconds, 0) AS verifying,
       training_s / nullif(seconds, 0) AS training,
       greatest(0, 1 - (sampling_s + verifying_s + training_s) / nullif(seconds, 0)) AS orchestration, peak_memory_mb
FROM stages
ORDER BY round NULLS LAST, place;

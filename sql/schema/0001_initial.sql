-- Everything a run leaves behind. Two kinds of tables, as in kernelzero/store/records.py:
--   identities (modules, kernels, judgements): the same fact wherever it occurs, inserted once, never changed;
--   events (all others): belong to a place in a run, their primary key, and are replaced when that place is repeated.
-- No foreign keys: DuckDB checks them inside a transaction in a way that forbids replacing a row, and rows of a stage are written
-- in the order in which they come about. No ENUM: it cannot grow. Times of day are UTC, in no key and in no comparison of runs.

CREATE TABLE runs (
    run_id        VARCHAR PRIMARY KEY,
    profile       VARCHAR NOT NULL,
    seed          BIGINT NOT NULL,
    config        JSON NOT NULL,          -- as resolved: profile and overrides
    status        VARCHAR NOT NULL,       -- running | finished | failed
    home          VARCHAR NOT NULL,       -- folder of the checkpoints
    origin_run_id VARCHAR NOT NULL,       -- of a rerun: the run whose rounds it starts from; '' otherwise
    environment   JSON NOT NULL,          -- versions, machine
    error         VARCHAR NOT NULL,
    started_at    TIMESTAMP NOT NULL,     -- first write of this row
    updated_at    TIMESTAMP NOT NULL      -- last write of this row
);

CREATE TABLE stage_runs (
    run_id         VARCHAR NOT NULL,
    round          BIGINT NOT NULL,       -- 0 is the base before any training
    stage          VARCHAR NOT NULL,      -- warm_start | proposer | generate | coder | evaluate
    status         VARCHAR NOT NULL,
    seconds        DOUBLE NOT NULL,       -- wall time; the next three are parts of it, the rest is orchestration
    sampling_s     DOUBLE NOT NULL,
    verifying_s    DOUBLE NOT NULL,
    training_s     DOUBLE NOT NULL,
    peak_memory_mb DOUBLE NOT NULL,
    detail         JSON NOT NULL,
    started_at     TIMESTAMP NOT NULL,
    updated_at     TIMESTAMP NOT NULL,
    PRIMARY KEY (run_id, round, stage)
);

CREATE TABLE api_sets (
    run_id         VARCHAR NOT NULL,
    round          BIGINT NOT NULL,
    stage          VARCHAR NOT NULL,      -- proposer | generate
    prompt_index   BIGINT NOT NULL,
    apis           VARCHAR[] NOT NULL,    -- canonical names, sorted
    source         VARCHAR NOT NULL,      -- co_occurrence | frontier | probe
    from_module_id VARCHAR NOT NULL,      -- of a frontier set: the failed module; '' otherwise
    prompt         VARCHAR NOT NULL,
    PRIMARY KEY (run_id, round, stage, prompt_index)
);

CREATE TABLE modules (
    module_id VARCHAR PRIMARY KEY,        -- sha256 of the normalised source
    source    VARCHAR NOT NULL,
    apis      VARCHAR[] NOT NULL,         -- as extracted from the source
    ast_id    VARCHAR NOT NULL,           -- sha256 of the syntax tree without layout and comments
    origin    VARCHAR NOT NULL,           -- who wrote it first: proposer | corpus | mini | kernelbench | user
    name      VARCHAR NOT NULL
);

CREATE TABLE validations (
    run_id       VARCHAR NOT NULL,
    round        BIGINT NOT NULL,
    stage        VARCHAR NOT NULL,
    step         BIGINT NOT NULL,         -- training step from 1; 0 in the generate stage
    row          BIGINT NOT NULL,         -- index of the completion within the step
    module_id    VARCHAR NOT NULL,        -- '' when no module could be extracted
    valid        BOOLEAN NOT NULL,
    failed_step  VARCHAR NOT NULL,        -- '' when valid, else ast | runs | stable | decontaminated
    reason       VARCHAR NOT NULL,
    detail       VARCHAR NOT NULL,
    missing_apis VARCHAR[] NOT NULL,
    duplicate_of VARCHAR NOT NULL,
    PRIMARY KEY (run_id, round, stage, step, row)
);

CREATE TABLE proposals (
    run_id       VARCHAR NOT NULL,
    round        BIGINT NOT NULL,
    stage        VARCHAR NOT NULL,
    step         BIGINT NOT NULL,
    row          BIGINT NOT NULL,
    prompt_index BIGINT NOT NULL,
    module_id    VARCHAR NOT NULL,
    completion   VARCHAR NOT NULL,
    tokens       BIGINT NOT NULL,
    k            BIGINT NOT NULL,         -- correct kernels of the frozen Coder
    n            BIGINT NOT NULL,         -- judged kernels of the frozen Coder; 0 when none was asked for
    reward       DOUBLE,                  -- NULL when nothing could be judged
    reward_kind  VARCHAR NOT NULL,        -- frontier | penalty | duplicate | missing_apis | flaky | unscored
    advantage    DOUBLE,
    PRIMARY KEY (run_id, round, stage, step, row)
);

CREATE TABLE kernels (
    kernel_id VARCHAR PRIMARY KEY,        -- sha256 of the normalised source
    source    VARCHAR NOT NULL,
    backend   VARCHAR NOT NULL
);

CREATE TABLE judgements (
    judgement_id VARCHAR PRIMARY KEY,     -- sha256 of module, kernel, policy, backend, seeds, scales, verifier
    module_id    VARCHAR NOT NULL,
    kernel_id    VARCHAR NOT NULL,
    backend      VARCHAR NOT NULL,
    policy       VARCHAR NOT NULL,        -- strict | kernelbench
    verifier     VARCHAR NOT NULL,
    stage        VARCHAR NOT NULL,        -- last stage reached: none | extracted | screened | built | ... | correct
    reason       VARCHAR NOT NULL,        -- '' when correct
    detail       VARCHAR NOT NULL,
    correct      BOOLEAN NOT NULL,
    flaky        BOOLEAN NOT NULL,
    max_error    DOUBLE,                  -- in units of the tolerance; NULL if never compared
    tolerance    VARCHAR NOT NULL,
    timer        VARCHAR NOT NULL,        -- roofline (an estimate) | cuda (measured); '' when not timed. Never mix them.
    reference_s  DOUBLE,
    kernel_s     DOUBLE,
    speedup      DOUBLE,                  -- reference_s / kernel_s
    measurement  JSON NOT NULL,
    device       VARCHAR NOT NULL,
    seconds      DOUBLE NOT NULL          -- wall time of the verification; no part of the verdict
);

CREATE TABLE samples (
    run_id        VARCHAR NOT NULL,
    round         BIGINT NOT NULL,
    stage         VARCHAR NOT NULL,
    role          VARCHAR NOT NULL,       -- reward (kernels for a proposal) | train | evaluate
    step          BIGINT NOT NULL,
    row           BIGINT NOT NULL,
    group_index   BIGINT NOT NULL,
    module_id     VARCHAR NOT NULL,
    kernel_id     VARCHAR NOT NULL,       -- '' when no answer could be extracted: a wrong answer
    judgement_id  VARCHAR NOT NULL,       -- '' when there is none
    tokens        BIGINT NOT NULL,
    finish_reason VARCHAR NOT NULL,       -- stop | length
    not_judged    VARCHAR NOT NULL,       -- a fault of ours or a limit of the device; counts in no rate. '' otherwise
    reward        DOUBLE,
    advantage     DOUBLE,
    suite         VARCHAR NOT NULL,       -- of an evaluation; '' otherwise
    task          VARCHAR NOT NULL,
    PRIMARY KEY (run_id, round, stage, role, suite, step, row)
);

CREATE TABLE groups (
    run_id      VARCHAR NOT NULL,
    round       BIGINT NOT NULL,
    stage       VARCHAR NOT NULL,
    step        BIGINT NOT NULL,
    group_index BIGINT NOT NULL,
    module_id   VARCHAR NOT NULL,
    size        BIGINT NOT NULL,          -- judged members
    rho         DOUBLE NOT NULL,          -- share of them that is correct
    tau         DOUBLE NOT NULL,
    gate_open   BOOLEAN NOT NULL,         -- rho >= tau
    nonzero     BOOLEAN NOT NULL,         -- some member has an advantage that is not 0
    PRIMARY KEY (run_id, round, stage, step, group_index)
);

CREATE TABLE metrics (
    run_id VARCHAR NOT NULL,
    round  BIGINT NOT NULL,
    stage  VARCHAR NOT NULL,
    step   BIGINT NOT NULL,
    name   VARCHAR NOT NULL,
    value  DOUBLE NOT NULL,
    PRIMARY KEY (run_id, round, stage, step, name)
);

CREATE TABLE evaluations (
    run_id  VARCHAR NOT NULL,
    round   BIGINT NOT NULL,              -- the Coder of this round; 0 is the base
    suite   VARCHAR NOT NULL,
    backend VARCHAR NOT NULL,
    policy  VARCHAR NOT NULL,
    metric  VARCHAR NOT NULL,             -- pass@1, fast_1.0@1, mean_tokens, ...
    value   DOUBLE NOT NULL,
    tasks   BIGINT NOT NULL,
    samples BIGINT NOT NULL,
    timer   VARCHAR NOT NULL,             -- '' where time plays no part
    low     DOUBLE,                       -- bootstrap interval over tasks
    high    DOUBLE,
    PRIMARY KEY (run_id, round, suite, backend, policy, metric, timer)
);

CREATE TABLE checkpoints (
    run_id        VARCHAR NOT NULL,
    round         BIGINT NOT NULL,
    role          VARCHAR NOT NULL,       -- base | proposer | coder
    path          VARCHAR NOT NULL,
    digest        VARCHAR NOT NULL,       -- sha256 over the files of the weights
    model_version VARCHAR NOT NULL,       -- MLflow registered model version; '' until registered
    PRIMARY KEY (run_id, round, role)
);

-- The order of the stages within a round: warm_start 1, proposer 2, generate 3, coder 4, evaluate 5.
CREATE MACRO stage_order(stage) AS list_position(['warm_start', 'proposer', 'generate', 'coder', 'evaluate'], stage);

-- Samples that count: judged, each with its verdict. An answer that could not be extracted is judged, and wrong.
CREATE VIEW outcomes AS
SELECT s.run_id, s.round, s.stage, s.role, s.step, s.row, s.group_index, s.suite, s.task, s.module_id, s.kernel_id, s.judgement_id,
       s.tokens, s.finish_reason, s.reward, s.advantage,
       coalesce(j.correct, false) AS correct, coalesce(j.flaky, false) AS flaky,
       j.backend, j.policy, j.timer, j.speedup, j.kernel_s, j.reference_s,
       CASE WHEN j.stage IS NULL THEN 'none' ELSE j.stage END AS reached,
       CASE WHEN j.reason IS NULL THEN 'no answer' ELSE j.reason END AS reason
FROM samples s LEFT JOIN judgements j ON j.judgement_id = s.judgement_id AND s.judgement_id <> ''
WHERE s.not_judged = '';

-- The runs that `run` builds on: itself and, when it is a rerun, the run it started from (and so on), each with the round below which
-- its rows count: a rerun of round r sees rounds < r of its origin and nothing later.
CREATE MACRO lineage(run, before) AS TABLE
WITH RECURSIVE chain(run_id, before_round) AS (
    SELECT run::VARCHAR, before::BIGINT
    UNION ALL
    SELECT r.origin_run_id, least(c.before_round, (SELECT min(s.round) FROM stage_runs s
                                                       WHERE s.run_id = c.run_id AND s.stage IN ('proposer', 'generate', 'coder')))
    FROM chain c JOIN runs r ON r.run_id = c.run_id WHERE r.origin_run_id <> '' AND r.origin_run_id <> r.run_id
)
SELECT run_id, before_round FROM chain;

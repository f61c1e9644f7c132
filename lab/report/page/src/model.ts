// The shape of the JSON that report and the API write; lab/record and lab/stats document it.
// Generated: INSTA_UPDATE=always cargo test -p faultline-report json_shape

export type Advice = { "code": "unmeasured", workload: NamedWorkload, why: UnmatchedReason | null, } | { "code": "unanswered", workload: NamedWorkload, times:
  number, first: Failure, } | { "code": "few-values", workload: NamedWorkload, } | { "code": "differs", workload: NamedWorkload, difference: number, } | {
  "code": "others", cpus: number, worst: Cell, } | { "code": "busy", cpus: number, } | { "code": "load", average: number, } | { "code": "steal", share: number,
  worst: Cell, } | { "code": "cpu-quota", cpus: number, } | { "code": "swapped", pages: number, } | { "code": "bimodal", workloads: Array<NamedWorkload>, } | {
  "code": "drift", workloads: Array<NamedWorkload>, } | { "code": "frequency-scaling", governor: string | null, steady: string, } | { "code": "boost", switch:
  BoostSwitch, } | { "code": "virtualised" } & Virtualisation | { "code": "slow-clock", name: string, } | { "code": "huge-pages" } | { "code": "numa-balancing"
  } | { "code": "fixed-addresses" } | { "code": "shared-cores", most_tasks: number, cores: number, } | { "code": "blind", workload: NamedWorkload, smallest:
  number | null, };
export type AgainstOne = { one: number, cpus: number, speedup: number, lost: number, loss: Loss, };
export type Answer = "faster" | "slower" | "equal" | "inconclusive";
export type Basis = { "kind": "repeats" } | { "kind": "seeds", pairs: Array<SeedPair>, left_out: [number, number], in_general: InGeneral, };
export type Begins = { at: number, objects: number, };
export type Beside = { format: string, id: string, from: number, to: number, series: Array<BesideSeries>, };
export type BesideSeries = { id: string, name: string, unit: string, is_exact: boolean, host: string | null, base: number | null, outside: number, marks:
  Array<PlacedMark>, buckets: Array<PlacedBucket>, };
export type Bits = { first: number, count: number, };
export type BoostSwitch = "intel-pstate" | "cpufreq";
export type Bounded = { value: number, low: number, high: number, level: number, };
export type Bucket = { first: number, last: number, first_s: number, last_s: number, measured: number, unusable: number, level: BucketLevel | null, };
export type BucketLevel = { low: number, low_at: number, median: number, high: number, high_at: number, };
export type ByDistance = { same_cache: number, same_socket: number, other_socket: number, several: number, };
export type Calibration = { machine: string, measured: Probe, costs: CostTimes, delays: DelayTimes, };
export type CallersFigures = { transfers: number, samples: number, one_in: number, whole_share: number, frames: Array<FrameFigures>, chains:
  Array<ChainFigures>, lines: Array<LineCallers>, };
export type Case = { workload: string, variant: string, mode: TaskMode, };
export type Caution = { "code": "few-units" } & FewUnits | { "code": "one-boot", boots: OneBoot, } | { "code": "not-interleaved", not_quiet: Array<NotQuiet>, }
  | { "code": "load", a: number | null, b: number | null, } | { "code": "steal", a: number | null, b: number | null, } | { "code": "drift", a: Drift | null, b:
  Drift | null, } | { "code": "bimodal", a: Groups | null, b: Groups | null, } | { "code": "different-facts", keys: Array<string>, };
export type Cell = { tasks: number, workload: string, variant: string, mode: TaskMode, };
export type CellComparison = { cpus: number, basis: Basis, transfers: [Spread, Spread], transfers_difference: number, transfers_change: Change, instructions:
  [Spread, Spread], instructions_difference: number, data: Array<Difference>, code: Array<Difference>, workload: string, variant: string, mode: TaskMode, };
export type CellTypes = { operation: string, cpus: number, seed: number | null, transfers: number, untyped: Untyped | null, types: TypesFigures, workload:
  string, variant: string, mode: TaskMode, };
export type Certainty = "certain" | "provisional" | "inconclusive" | "layout" | "quirk";
export type ChainFigures = { frames: Array<number>, is_whole: boolean, samples: number, };
export type Change = "came" | "went" | "more" | "less" | "same";
export type Check = { of?: string | null, case: string, cpus: number, metric: Metric, limit: number | null, seeds: Array<number>, standing: Standing,
  differences: Array<Difference>, };
export type CodePlace = { function: string, source: string | null, inlined_into: string | null, };
export type CodeSite = { name: string, library?: string | null, inlined_into: string | null, between: Array<string>, transfers: number, share: number,
  false_share: number | null, };
export type CommandFigure = { quantity: Quantity, unit: string, estimate: Estimate, smallest: number, largest: number, };
export type CommandFigures = { command: string, figures: Array<CommandFigure>, };
export type CommitMark = { position: number, commit: string, committed_s: number, author: string, subject: string, run: RunId | null, value: Estimate | null,
  values: Array<number>, boots: Array<number>, layout_values: Array<number>, layouts: Array<number>, executions: number, files: FilesNamed | null, why: string,
  message: string, executed_as: SubjectIndex | null, };
export type ComparedWorkload = { name: string, unit: string, direction: Direction, a: Side, b: Side, independent: Unit, method: Method, answer: Answer,
  inconclusive: Inconclusive | null, margin: number, within_margin: boolean, p: number | null, p_corrected: number | null, ratio: Bounded | null, shift: Bounded
  | null, ratio_of_medians: Bounded | null, detectable: number | null, cautions: Array<Said<Caution>>, tasks: number | null, values: [Array<number>,
  Array<number>], system_share: [Estimate | null, Estimate | null], counters: Array<CounterDifference>, figures: Array<WorkloadComparison>, by_cpu_time?:
  WorkloadComparison, failures: [Array<Said<Failure>>, Array<Said<Failure>>], };
export type Comparison = { format: string, a: Described, b: Described, level: number, seed: number, resamples: number, workloads: Array<ComparedWorkload>,
  improvement: Bounded | null, scaling: Array<ScaledCase>, facts: Array<FactDifference>, untested: Array<UntestedFigure>, sequential: Sequential | null,
  unmatched: Array<Said<Unmatched>>, };
export type CostTimes = { instruction_ps: number, same_cache_ns: number, same_socket_ns: number, other_socket_ns: number, memory_ns: number, };
export type CounterDifference = { name: string, a: number, b: number, p_corrected: number, };
export type CpuClock = { cpu: number, clock: number, };
export type CpuTransfers = { cpu: number, transfers: number, };
export type Curve = { operation: string, text: string, unit: string, direction: Direction, base_tasks: number | null, points: Array<Point>, notes: { [key in
  string]: string }, workload: string, variant: string, mode: TaskMode, verdict: Verdict, verdict_rests_on: VerdictBasis | null, verdict_reason?:
  Said<InconclusiveVerdict>, };
export type CutShort = { ending: Outcome, transfers: number, instructions: number, clocks: Array<CpuClock>, lines: Array<LineFigures>, code: Array<CodeSite>, };
export type DelayTimes = { atomic_ps: number, request_percent: number, wake_ns: number, interrupt_ns: number, entry_ns: number, };
export type Delays = { atomic: Time, contended: Time, wake: Time, interrupt: Time, call: Time, };
export type Described = { name: string, setup: Array<string>, run: RunId | null, started: UnixMillis | null, machine: string | null, };
export type Difference = { of: Said<Key>, change: Change, a: Spread, b: Spread, difference: number, beside_a: Array<Said<Key>>, beside_b: Array<Said<Key>>, };
export type Direction = "higher" | "lower";
export type Disturbance = { tasks: number, } & ({ "cause": "others", cpus: number, } | { "cause": "steal", share: number, } | { "cause": "quota", cpus: number,
  } | { "cause": "shared-cores", cores: number, });
export type Drift = "rise" | "fall";
export type EfficiencyRange = { low: number, high: number, };
export type Ended = "settled" | "budget" | "planned" | "stopped";
export type EnvironmentPart = "emulator" | "plugin" | "model" | "memory" | "workloads" | "part" | "operations";
export type Estimate = { median: number, low: number, high: number, coverage: number, n: number, };
export type FactDifference = { key: string, a: FactValue | null, b: FactValue | null, };
export type FactValue = boolean | number | number | string;
export type Failure = { block: number | null, } & ({ "cause": "ended", outcome: Outcome, } | { "cause": "no-figure" } | { "cause": "no-operation" } | { "cause":
  "no-report" } | { "cause": "told", words: string, });
export type FewUnits = { "why": "pairs", pairs: number, needed: number, } | { "why": "for-ranks", unit: Unit, a: number, b: number, } | { "why": "for-any-test",
  unit: Unit, a: number, b: number, } | { "why": "no-look", measured: number, first_look: number, };
export type FilesNamed = { number: number, most: Array<string>, };
export type Fit = "fit" | "coarse" | "unfit";
export type FitError = { "problem": "few-points", found: number, needed: number, } | { "problem": "few-values", found: number, needed: number, } | { "problem":
  "not-a-rate", rate: number, cpus: number, } | { "problem": "unsettled" } | { "problem": "different-laws" } | { "problem": "level", level: number, };
export type Fitness = { format: string, fit: Fit, compared: Comparison, advice: Array<Advice>, };
export type FrameFigures = { name: string | null, is_inlined: boolean, };
export type GateReport = { format: string, run: RunId, baseline: RunId | null, checks: Array<Check>, };
export type Groups = { up_to: number, from: number, };
export type Growth = "logarithmic" | "linear" | "other" | "unknown";
export type GuestFailure = "not_booted" | "panicked" | "hung" | "lost";
export type Held = { name: string, offset: number, share: number, };
export type HistoryStage = { "what": "build", commit: string, number: number, } | { "what": "link" } | { "what": "boot" } | { "what": "measure" };
export type InGeneral = { "kind": "one-seed", needed: number, } | { "kind": "too-few-seeds", difference: Estimate, needed: number, } | { "kind": "more",
  difference: Estimate, } | { "kind": "less", difference: Estimate, } | { "kind": "same", difference: Estimate, } | { "kind": "inconclusive", difference:
  Estimate, };
export type Inconclusive = "few-values" | "failures" | "confounded-boots" | "not-interleaved" | "too-noisy" | "past-margin";
export type InconclusiveVerdict = { "reason": "few-repeats", needed: number, } | { "reason": "across-limit", limits: Array<number>, } | { "reason": "disturbed",
  as_measured: Verdict, could_be: EfficiencyRange | null, by: Array<Disturbance>, } | { "reason": "super-linear", limit: number, };
export type InterruptFigures = { transfers: Estimate, instructions: Estimate, lines: Array<LineFigures>, code: Array<CodeSite>, };
export type Key = { "kind": "named", name: string, } | { "kind": "unnamed", what: Unnamed, moved_by: Array<CodePlace | null>, } | { "kind": "code", place:
  CodePlace | null, };
export type Keyword = "struct" | "union" | "class";
export type KindOfSubject = "system" | "program" | "kernel" | "machine";
export type Law = "amdahl" | "universal";
export type LayoutLine = { number: number, from: number, moved: Moved, members: number, rows: Array<LayoutRow>, };
export type LayoutRow = { kind: RowKind, depth: number, name: string | null, path: string, of: string, keyword?: Keyword | null, offset: number, size: number,
  bits: Bits | null, is_continued: boolean, moved: Moved, used_by_others: number, code: Array<CodeSite>, };
export type LensComparison = { format: string, a: RunId, b: RunId, differing: Array<EnvironmentPart>, same_subject: boolean, cells: Array<CellComparison>,
  unmatched: Array<UnmatchedCell>, };
export type LensCurve = { operation: string, text: string, points: Array<LensPoint>, verdict: LensVerdict, against_one: AgainstOne | null, workload: string,
  variant: string, mode: TaskMode, };
export type LensPoint = { cpus: number, transfers: Estimate | null, false_share: number | null, instructions: Estimate | null, capacity_misses: Estimate | null,
  interrupts: InterruptFigures | null, faults: number | null, overlap: number | null, rate: Estimate | null, rate_range?: Span | null, speedup: number | null,
  speedup_range?: Span | null, withheld?: Said<Withheld> | null, repeats: Array<number>, seeds: Array<number | null>, operations: number | null, by_distance:
  ByDistance | null, processes?: Array<ProcessFigures>, lines_moved: number, objects?: Array<ObjectFigures>, lines: Array<LineFigures>, code: Array<CodeSite>,
  types: TypesFigures | null, callers: CallersFigures | null, problems: Array<Said<Problem>>, untyped?: Untyped | null, failures: Array<Said<Failure>>,
  cut_short: Array<CutShort>, };
export type LensSummary = { subject: unknown, settings: unknown, seeds: Array<number>, curves: Array<LensCurve>, };
export type LensTypes = { format: string, run: RunId, asked: Array<string>, cells: Array<CellTypes>, };
export type LensVerdict = { "kind": "free", reach: Reach, } | { "kind": "flat", reach: Reach, } | { "kind": "contended", reach: Reach, limit: LineLimit, } | {
  "kind": "costs", reach: Reach, } | { "kind": "grows", reach: Reach, growth: Growth, } | { "kind": "falls", reach: Reach, } | { "kind": "uneven", reach: Reach,
  } | { "kind": "too-few-points" };
export type Letter = "a" | "b";
export type LineCallers = { name: string, address: string, samples: number, chains: Array<ChainFigures>, };
export type LineFigures = { name: string, address: string, transfers: number, share: number, false_share: number, read_share?: number | null, held: Array<Held>,
  by_cpu: Array<CpuTransfers>, code: Array<CodeSite>, };
export type LineLimit = { transfers: number, cpus: number, };
export type Look = { blocks: number, alpha: number, };
export type Loss = "little" | "part" | "most";
export type Method = "signed-ranks" | "ranks" | "welch" | "none";
export type Metric = "transfers" | "true_sharing" | "false_sharing" | "instructions";
export type Move = "fell" | "rose" | "no-difference";
export type Moved = { transfers: number, reads: number, writes: number, false_share: number, };
export type NamedWorkload = { name: string, tasks: number | null, };
export type Nearness = "same_core" | "same_cache" | "same_socket" | "other_socket" | "unknown";
export type NoFigure = { "reason": "no-such-cell" } | { "reason": "not-run" } | { "reason": "no-types", why: Untyped, } | { "reason": "not-of-types" } | {
  "reason": "all-failed", failures: Array<Failure>, } | { "reason": "some-failed", failures: Array<Failure>, } | { "reason": "unlike", why: WhyUnmatched, } | {
  "reason": "counted-too-little", problem: Problem, };
export type NotQuiet = "not-recorded" | "load" | "steal" | "busy-at-start" | "frequency";
export type ObjectFigures = { owner: Owner, lines: number, cpus: number, transfers: number, share: number, read_share: number, false_share: number, code:
  Array<CodeSite>, };
export type OneBoot = "shared" | "unknown" | "confounded";
export type Outcome = { "kind": "done" } | { "kind": "failed", step: string, errno: number, text: string, } | { "kind": "unsupported", step: string, text:
  string, } | { "kind": "timed_out", limit_ms: number, } | { "kind": "crashed", signal: number, stderr: string, } | { "kind": "exited", status: number, stderr:
  string, } | { "kind": "rubbish", line: number, problem: string, } | { "kind": "not_started", text: string, } | { "kind": "lab_failed", text: string, } | {
  "kind": "left_changed", text: string, } | { "kind": "connection_lost", text: string, } | { "kind": "guest_failed", how: GuestFailure, text: string, console:
  string, } | { "kind": "not_counted", } & ({ "why": "no-operation" } | { "why": "no-mark" } | { "why": "no-mark-in-machine" } | { "why": "no-report", problem:
  string, }) | { "kind": "not_translated", text: string, } | { "kind": "partner_failed", role: Role, outcome: Outcome, } | { "kind": "interrupted" };
export type Owner = { "kind": "variable", name: string, } | { "kind": "type", name: string, } | { "kind": "memory", of: Untypeable, function: string | null, };
export type Pair = { one: number, other: number, nearness: Nearness, hand_over: Time, };
export type ParameterChange = { a: number, b: number, difference: Bounded, p: number, change: Move, };
export type PlacedBucket = { from: number, to: number, bucket: Bucket, };
export type PlacedMark = { at: number, is_after_gap: boolean, mark: CommitMark, };
export type Point = { tasks: number, value: Estimate | null, speedup: Estimate | null, efficiency: Estimate | null, system_share: Estimate | null, shares:
  TimeShares | null, repeats: Array<number>, intervals: number, side: Array<SideFigure>, counters: Array<[string, number]>, failures: Array<Said<Failure>>, };
export type Probe = { instruction_ps: number, pairs: Array<Pair>, delays: Delays, };
export type Problem = { "kind": "no_mark" } | { "kind": "end_not_reached", function: string, } | { "kind": "left_processes" } | { "kind": "no_mappings", reason:
  string, };
export type ProcessFigures = { name: string, processes: number, is_counted: boolean, transfers: number, share: number, false_share: number, instructions:
  number, };
export type Progress = { planned: number, done: number, failed: number, unsupported: number, skipped: number, };
export type ProposedLayout = { size: number, members: Array<ProposedMember>, saved: number, };
export type ProposedMember = { name: string | null, of: string, bits?: Bits | null, was: number, offset: number, begins_line: boolean, };
export type Quantity = "time" | "cpu-time" | "user-time" | "system-time" | "memory" | "instructions" | "transfers";
export type QuirkMark = { letter: string, what: string, ranges: Array<[number, number]>, };
export type Reach = { from_cpus: number, from: number, to_cpus: number, to: number, per_doubling: number, };
export type RelatedHistory = { id: string, name: string, unit: string, };
export type Role = string;
export type RowKind = "member" | "outer" | "hole" | "padding" | "behind";
export type RunId = number;
export type RunLine = { id: RunId, label: string | null, started: UnixMillis, state: RunState, kind: string, suite: string | null, workloads: Array<string>,
  sides?: Array<string>, subject: KindOfSubject | null, cpus: Array<number>, history?: RunOfHistory | null, planned: number, whole: number | null, ended:
  number, failed: number, skipped: number, machine: string, };
export type RunOfHistory = { subject: string, measured: string, quantity: Quantity, commits: number, stage: HistoryStage | null, };
export type RunState = "open" | "finished";
export type RunSummary = { format: string, run: RunId, label: string | null, started: UnixMillis, state: RunState, machine: string, progress: Progress, curves:
  Array<Curve>, warnings: Array<Said<Warning>>, command?: CommandFigures, lens?: LensSummary, };
export type Said<T> = { text?: string, } & T;
export type ScaledCase = { name: string, unit: string, comparison: ScalingComparison, };
export type ScalingComparison = { law: Law, one_cpu: ParameterChange, serial: ParameterChange, coherence: ParameterChange | null, };
export type SeedPair = { seed: number, transfers: [number, number], instructions: [number, number], identical: boolean, };
export type Sequential = { level: number, looks: Array<Look>, taken: number, ended: Ended, };
export type Side = { boots: number, runs: number, intervals: number, units: number, median: number, mean: number, };
export type SideFigure = { name: string, unit: string, direction: Direction | null, estimate: Estimate, };
export type SizeMemory = "once" | "each";
export type SizeRange = { variant: string, least: number, most: number, memory?: SizeMemory | null, };
export type Span = { low: number, high: number, };
export type Spread = { median: number, low: number, high: number, n: number, };
export type Standing = { "kind": "kept", value: number, } | { "kind": "exceeded", value: number, lines: Array<LineFigures>, code: Array<CodeSite>, of?:
  TypeFigures | null, } | { "kind": "no_figure" } & Said<NoFigure>;
export type StepMark = { after: number, by: number, earliest: number, latest: number, from: number, to: number, commits: [string, string], change: string, what:
  string, is_better: boolean, certainty: Certainty, state: string, said: Array<string>, };
export type StepsFound = { format: string, id: string, least_change: number, steps: Array<StepMark>, };
export type Style = "loop" | "once";
export type SubjectIndex = number;
export type SuiteMember = { variant: string, mode: TaskMode, };
export type SuitePart = { suite: string, place: number, members: Array<SuiteMember>, };
export type TaskMode = "process" | "thread";
export type Time = { median_ns: number, quartiles_ns: [number, number], };
export type TimeShares = { user: number, system: number, idle: number, steal: number, };
export type Timeline = { format: string, id: string, subject: string, unit: string, tasks: number, is_exact: boolean, host: string | null, name: string, base:
  number | null, related: Array<RelatedHistory>, commits: number, from: number, to: number, marks: Array<CommitMark>, buckets: Array<Bucket>, whole:
  Array<Bucket>, steps: Array<StepMark>, least_change: number, quirks: Array<QuirkMark>, };
export type TypeFigures = { keyword: Keyword, name: string, is_alias: boolean, size: number, unused_bytes: number, moved: Moved, share: number, begins:
  Array<Begins>, within: Array<string>, beside: number, hottest: string | null, line_count: number, lines: Array<LayoutLine>, code: Array<CodeSite>, proposed?:
  ProposedLayout | null, };
export type TypesFigures = { number: number, types: Array<TypeFigures>, typed_share: number, untyped: Array<UntypedFigures>, };
export type Unit = "boot" | "run" | "summary";
export type UnixMillis = number;
export type Unmatched = { name: string, tasks: number | null, measure: string | null, } & ({ "reason": "one-side-only", side: Letter, } | { "reason":
  "units-differ", units: [string, string], } | { "reason": "directions-differ" } | { "reason": "direction-unknown" } | { "reason": "no-value", side: Letter,
  failure: Failure | null, } | { "reason": "no-ratio", side: Letter, value: number, least: number, greatest: number, } | { "reason": "split-block", block:
  number, } | { "reason": "no-law", why: FitError, });
export type UnmatchedCell = { cpus: number, workload: string, variant: string, mode: TaskMode, } & ({ "reason": "no-counts", missing_in: RunId, } | { "reason":
  "other-operation", a: string, b: string, } | { "reason": "interrupts-apart", only_in: RunId, });
export type UnmatchedReason = { "reason": "one-side-only", side: Letter, } | { "reason": "units-differ", units: [string, string], } | { "reason":
  "directions-differ" } | { "reason": "direction-unknown" } | { "reason": "no-value", side: Letter, failure: Failure | null, } | { "reason": "no-ratio", side:
  Letter, value: number, least: number, greatest: number, } | { "reason": "split-block", block: number, } | { "reason": "no-law", why: FitError, };
export type Unnamed = { "of": "cache", cache: string, } | { "of": "free-page" } | { "of": "per-cpu" } | { "of": "kernel-page" } | { "of": "vmalloc" } | { "of":
  "heap" } | { "of": "mapped" } | { "of": "unknown" };
export type UntestedFigure = { name: string, figure: string | null, reason: UntestedReason, tasks: number | null, unit: string, direction: Direction, a: number,
  b: number, };
export type UntestedReason = "single-value" | "no-ratio";
export type Untypeable = { "kind": "variables" } | { "kind": "per-cpu-variables" } | { "kind": "cache", name: string, } | { "kind": "page-contents" } | {
  "kind": "page-tables" } | { "kind": "free-pages" } | { "kind": "stacks" } | { "kind": "kernel-memory" } | { "kind": "heap" } | { "kind": "mapped" } | {
  "kind": "unknown" };
export type Untyped = { "kind": "not-read" } | { "kind": "kernel-not-found" } | { "kind": "no-types" } | { "kind": "bad-types", problem: string, } | { "kind":
  "other-layout" };
export type UntypedFigures = { what: Untypeable, moved: Moved, share: number, };
export type VariantInfo = { name: string, modes: Array<TaskMode>, text: string, lens_operations?: number | null, };
export type Verdict = "scales" | "partly" | "does-not-scale" | "inconclusive" | "not-measured";
export type VerdictBasis = { tasks: number, efficiency: Estimate, };
export type Virtualisation = { "how": "emulated" } | { "how": "container" } | { "how": "hypervisor", names: Array<string>, };
export type Warning = { code: string, cells: Array<Cell>, };
export type WhyUnmatched = { "reason": "no-counts", missing_in: RunId, } | { "reason": "other-operation", a: string, b: string, } | { "reason":
  "interrupts-apart", only_in: RunId, };
export type Withheld = { "kind": "not-modelled", share: number, } | { "kind": "not-measured", share: number, } | { "kind": "spinning", share: number, } | {
  "kind": "retries", share: number, } | { "kind": "queues", share: number, } | { "kind": "other-distance", share: number, } | { "kind": "little-overlap", share:
  number, } | { "kind": "few-delays", share: number, };
export type WorkloadComparison = { name: string, unit: string, direction: Direction, a: Side, b: Side, independent: Unit, method: Method, answer: Answer,
  inconclusive: Inconclusive | null, margin: number, within_margin: boolean, p: number | null, p_corrected: number | null, ratio: Bounded | null, shift: Bounded
  | null, ratio_of_medians: Bounded | null, detectable: number | null, cautions: Array<Said<Caution>>, };
export type WorkloadInfo = { name: string, summary: string, operation: string, unit: string, direction: Direction, style: Style, window_ms: number, size:
  [number, string] | null, size_ranges?: Array<SizeRange>, variants: Array<VariantInfo>, lens_operations?: number | null, suites?: Array<SuitePart>, roles?:
  Array<Role>, optional_roles?: Array<Role>, };

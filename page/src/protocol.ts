/** Reports, requests and answers (docs/mqtt.md); made by scripts/make_protocol.py. */

/** Get control of the robot if no client has it; with the lease of the one who has, renew it. */
export interface AcquireLeaseRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  /** By which others see the client. */
  holder: string;
}

/** Whether a robot takes requests. */
export interface AvailabilityReport {
  state: "online" | "offline";
}

/** Go through these positions; they replace what has not been played, from their begin on. */
export interface ChunkRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  goal_id: string;
  positions: number[][];
  period_s?: number | null;
  times?: number[] | null;
  start_at?: number | null;
  sent_at?: number | null;
}

/** The goals that do not wait any more. */
export interface ClearQueueAnswer {
  cleared: string[];
}

/** Remove all motions that wait from the queue; what plays plays on. */
export interface ClearQueueRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** Clear errors that servos keep, without a restart; only where the robot does not hold. */
export interface ClearServosRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  servos: string[];
}

/** How well the machine's clock is synchronised. */
export interface ClockReport {
  synchronised: boolean;
  /** Null where nothing estimates it. */
  estimated_error_s: number | null;
  /** If its source is right; null where it is not known. */
  max_error_s: number | null;
  /** `chrony: ` with an address or a name, or `kernel`. */
  source: string | null;
  /** The same for all robots of one machine; another after its next boot. */
  machine: string | null;
}

/** The robot begins its approach in time, and plays its first row at `start_at`. */
export interface CommitAnswer {
  start: string;
  start_at: number;
}

/** Play what was prepared for a start of the group: its first row is due at `start_at`, in Unix time. */
export interface CommitRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  start: string;
  token: string;
  robots: string[];
  start_at: number;
  on_member_failure?: "stop" | "continue";
}

/** Remove a motion's file, where the configuration lets clients do so. */
export interface DeleteMotionRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  motion: string;
}

/** What was removed. */
export interface DeleteRecordingAnswer {
  file: string;
}

/** Remove a recording. */
export interface DeleteRecordingRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  /** With or without `.mcap`. */
  name: string;
}

/** The motions that stood in the file that was removed. */
export interface DeletedAnswer {
  deleted: string[];
}

/** A joint and its limits, in rad or m; null where there is none. */
export interface DescribedJoint {
  name: string;
  unit: "rad" | "m";
  /** Whether it turns without end, so that whole turns more or less are the same posture. */
  continuous: boolean;
  lower: number | null;
  upper: number | null;
  velocity: number | null;
  acceleration: number | null;
  effort: number | null;
  continuous_effort: number | null;
  /** Where the limits come from that an actuator sets, by `lower`, `upper`, `velocity`, … */
  limited_by: Record<string, string>;
}

/** How far each joint may be from its setpoints, in its unit; null where nothing is checked. */
export interface DescribedTolerances {
  path: Record<string, number | null>;
  goal: Record<string, number | null>;
}

/** What a robot is. */
export interface DescriptionReport {
  joints: DescribedJoint[];
  actuators: string[];
  /** The name of its description; null where the configuration lists joints alone. */
  model: string | null;
  driver: string;
  /** Joint positions by the names of poses, in rad or m. */
  poses: Record<string, Record<string, number>>;
  /** Those that it can be started together with. */
  groups: string[];
  tolerances: DescribedTolerances;
  /** The temperature beyond which a motion is stopped, in °C; null where none is checked. */
  hottest_c: number | null;
  /** Whether motions may be uploaded and deleted. */
  upload: boolean;
  /** What the names of motion files end in. */
  motion_suffixes: string[];
  formats: Record<string, string[]>;
  rates: Rates;
  version: string;
  /** What it can touch and be touched with, where its driver knows contacts and was opened: links, `floor`, bodies of the scene. */
  bodies?: string[];
}

/** The timing of a second, and what the driver reports; arrays are by joint, null where unknown. */
export interface DiagnosticsReport {
  ticks: number;
  tick_rate_hz: number;
  lateness_s: Spread;
  /** By how much the time between two ticks differed from the period. */
  jitter_s: Spread;
  /** Spent in the driver. */
  write_s: Spread;
  /** Spent in the driver. */
  read_s: Spread;
  missed_deadlines: number;
  skipped_rows: number;
  lateness_histogram: LatenessHistogram;
  /** Since the driver was opened. */
  missed_deadlines_total: number;
  /** Since the driver was opened. */
  driver_errors: number;
  temperature_c: (number | null)[];
  voltage_v: (number | null)[];
  /** Ticks that the daemon was too slow to read. */
  records_lost: number;
  clock: ClockReport;
  errors: ServoErrors;
}

/** Switch torque off; only while no motion plays. */
export interface DisableRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** The joint that was moved furthest from where it was held. */
export interface Displacement {
  joint: string;
  /** How far, in its unit. */
  value: number;
  unit: "rad" | "m";
}

/** What was taught last; it is kept until the robot is taught again, or the daemon ends. */
export interface DraftReport {
  duration_s: number;
  /** Ticks that were recorded. */
  rows: number;
  poses: number;
}

/** Switch torque on, holding where the joints are. */
export interface EnableRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** An emergency stop was accepted. */
export interface EstopAnswer {
  state: State;
  /** Whether there are actuators to stop: false where the robot is offline. */
  reached: boolean;
  /** Why they were not reached. */
  message: string;
  /** What was wrong with the request. */
  ignored?: string;
  latched: boolean;
}

/** Halt in the next tick and latch; not a safety-rated stop. */
export interface EstopRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** Something that happened; from `marker` on only of a marker that a motion has passed. */
export interface EventReport {
  kind: "marker" | "warning" | "driver" | "fault" | "deadline_missed" | "suspended" | "torque" | "stream_lost" | "servo_errors" | "back" | "not_parked" | "not_sought" | "fault_refused" | "queue_moved" | "blend_dropped" | "lease_lost" | "lease_taken" | "start_released" | "check_failed" | "check_passed" | "displaced" | "rested" | "teaching" | "recording" | "follow_timeout" | "leader_lost";
  message: string;
  /** Of a check that fails: `check`, joint or actuator, value, limit, unit, `code` and `state`. */
  details?: Record<string, unknown>;
  /** Its name. */
  marker?: string;
  /** What its file has there. */
  payload?: unknown;
  goal_id?: string;
  /** The pass. */
  loop?: number;
  /** From when its setpoint was due until it was written. */
  lateness_s?: number;
  /** Who was in control. */
  holder?: string;
  /** Who took it; null where the lease has run out. */
  taker?: string | null;
  /** The start of a group for which the robot is not reserved any more. */
  start?: string;
}

/** A simulated fault was handed over. */
export interface FaultAnswer {
  fault: Record<string, unknown>;
}

/** Let a fault of simulated actuators happen; other keys are the driver's own (docs/faults.md). */
export interface FaultRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  fault: string;
  joint?: string | null;
}

/** What was too near for joints to go on to their targets. */
export interface FollowHeldBy {
  /** The names of two: links, or a link and what stands around. */
  links: string[];
  /** How near they are, or would have come. */
  distance_m: number;
}

/** The joint whose newest target is furthest from what is measured. */
export interface FollowLag {
  joint: string;
  /** Target less measured, in its unit, or that per second. */
  value: number;
  unit: string;
}

/** What a robot does that follows targets; renewed once a second. */
export interface FollowStatus {
  /** How many were taken; a chunk counts as one. */
  targets: number;
  /** How many of them were beyond a limit, and clipped to it. */
  clipped: number;
  /** How many were not taken, as a newer one had come. */
  dropped: number;
  /** How many were not taken, as they were no targets of it. */
  refused: number;
  /** From when a target was sent, or else taken, to the first setpoint by it; null before the first. */
  latency_s: Spread | null;
  /** Null before the first target. */
  lag: FollowLag | null;
  /** In the last second; null where nothing was in the way, or where `collision` is not configured. */
  held_by: FollowHeldBy | null;
  /** In the order of targets' values. */
  joints: string[];
  mode: "position" | "velocity" | "twist";
  /** Of twists: what is moved. */
  frame: string | null;
  /** Of twists: the joint that slows the frame down or stops it, by its limits; or `singularity`. */
  slowed_by: string | null;
  /** The robot whose joints are the targets. */
  leader: string | null;
  /** Whether it is where its leader is, after the slow way to there at the beginning. */
  has_reached_leader: boolean;
  /** How many targets came in the last second. */
  targets_hz: number;
}

/** How a gamepad jogs the robot. */
export interface GamepadAnswer {
  /** Null where none was kept, or what was kept cannot be used. */
  mapping: GamepadMapping | null;
  /** Why that cannot be used. */
  problem: string | null;
}

/** An axis moves it: at its end by this share of the speed, backwards where that is negative. */
export interface GamepadAxis {
  axis: number;
  scale: number;
}

/** Two buttons move it: one back, one on. */
export interface GamepadButtons {
  minus: number;
  plus: number;
  scale: number;
}

/** What a gamepad's axes and buttons move. */
export interface GamepadMapping {
  /** The button without which nothing moves. */
  dead_man: number;
  /** What an axis shows up to here, it does not mean. */
  dead_zone: number;
  /** The exponent by which an axis acts: above 1, it is gentle in its middle. */
  curve: number;
  /** By joint. */
  joints: Record<string, GamepadAxis | GamepadButtons>;
  /** By direction of the frame that is jogged, along or about its axes. */
  directions: Record<string, GamepadAxis | GamepadButtons>;
}

/** Report how a gamepad jogs the robot. */
export interface GamepadRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** A goal was accepted; its end comes as a result. Either it begins now, or it is `queued`. */
export interface GoalAnswer {
  goal_id: string;
  /** How long the way to its first row takes. */
  approach_s?: number;
  start_distance?: StartDistance | null;
  /** Its place in the queue. */
  queued?: number;
  /** Over how much of its time what is before it flows into it; more than was asked for where its efforts allow no less. */
  blend_s?: number;
  /** What was found of it that does not keep it from being played; as of its result. */
  warnings?: string[];
}

/** How far ticks were from their appointed times, in s; `first` and `last` have a sign. */
export interface GoalDrift {
  p50: number;
  p99: number;
  max: number;
  /** Of the first row. */
  first: number;
  /** Of the last tick that counts; positive where it came late. */
  last: number;
}

/** How the ticks of a goal were timed. */
export interface GoalTiming {
  ticks: number;
  tick_rate_hz: number;
  lateness_s: Spread;
  /** By how much the time between two ticks differed from the period. */
  jitter_s: Spread;
  /** Spent in the driver. */
  write_s: Spread;
  /** Spent in the driver. */
  read_s: Spread;
  missed_deadlines: number;
  skipped_rows: number;
  lateness_histogram: LatenessHistogram;
  /** By Unix time; null where no `start_at` appointed the start, or no tick counts. */
  drift_s: GoalDrift | null;
}

/** Go to a posture: a configured one by its name, or joint positions in rad or m. */
export interface GotoRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  pose?: string | null;
  joints?: Record<string, number> | null;
  from_beyond?: boolean;
  on_busy?: "reject" | "queue" | "replace" | "beside" | "blend";
}

/** The last results of a robot. */
export interface HistoryAnswer {
  results: PastResult[];
  /** Whether there are older ones. */
  more: boolean;
  /** Why results may be missing, as where the file of them is damaged. */
  problem: string | null;
}

/** List the last results of the robot, newest first, those before the daemon's start too. */
export interface HistoryRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  limit?: number;
  /** The `id` of a result: list what came before it. */
  before?: number | null;
}

/** What a motion asks of the actuator of a joint, in N·m or N; `null` where there is no limit. */
export interface JointEffort {
  joint: string;
  unit: string;
  /** Without sign. */
  peak: number;
  /** Of the peak, in s. */
  time: number;
  limit: number | null;
  /** The root mean square of the whole motion. */
  rms: number;
  /** What the actuator bears for any time, as the root mean square. */
  continuous: number | null;
}

/** The robot goes on following. */
export interface KeepAliveAnswer {
  goal_id: string;
}

/** Follow the leader for another `keep_alive_s`: who began it is still there. */
export interface KeepAliveRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  goal_id: string;
}

/** The pose was kept. */
export interface KeepPoseAnswer {
  name: string;
  /** In rad or m. */
  joints: Record<string, number>;
  /** How many are kept by now. */
  poses: number;
}

/** Keep where the robot is now as a pose; without a name as pose_1, pose_2, and so on. */
export interface KeepPoseRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  name?: string | null;
}

/** Whether it is kept now. */
export interface KeepRecordingAnswer {
  file: string;
  kept: boolean;
}

/** Mark a recording to be kept, or take the mark off. */
export interface KeepRecordingRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  /** With or without `.mcap`. */
  name: string;
  keep: boolean;
}

/** A pose that was kept while the robot was taught; joints in rad or m. */
export interface KeptPose {
  name: string;
  joints: Record<string, number>;
}

/** How often which lateness came. */
export interface LatenessHistogram {
  /** The bounds. */
  up_to_s: number[];
  /** Of the ticks up to each bound and beyond the one before; at last, of those beyond all. */
  counts: number[];
  sum_s: number;
}

/** Who is in control of the robot; `lease` and `ttl_s` where that is the client that asked. */
export interface LeaseAnswer {
  holder: string | null;
  epoch: number;
  expires_at: number | null;
  /** How long it lasts without being renewed, in s. */
  ttl_s?: number;
  /** What requests have to carry. */
  lease?: string;
}

/** Who is in control of a robot. */
export interface LeaseReport {
  /** Whether only who is in control may command it. */
  required: boolean;
  /** Who is in control; null: no client. */
  holder: string | null;
  /** Grows with each holder; null where no lease is required. */
  epoch: number | null;
  /** Unix time in s at which control is lost if it is not renewed; renewals are not all reported. */
  expires_at: number | null;
  /** How long a lease lasts without being renewed. */
  ttl_s: number;
  /** Whether another client may take it. */
  takeover: boolean;
}

/** A named place on a motion. */
export interface ListedMarker {
  name: string;
  frame: number;
  time: number;
}

/** A motion; `max_speed` where it can be played, else `reason`. */
export interface ListedMotion {
  name: string;
  file: string;
  ok: boolean;
  /** In s. */
  duration: number;
  frame_rate: number;
  frames: number;
  joints: string[];
  /** The joints that it leaves where they are. */
  holds: string[];
  markers: ListedMarker[];
  warnings: string[];
  max_speed?: number;
  /** Where the configuration asks for it (`effort`). */
  effort?: MotionEffort;
  /** Where the configuration asks for it (`collision`). */
  nearest?: NearestLinks;
  /** Whether it lies in the folder for uploads, so that it may be deleted. */
  uploaded?: boolean;
  reason?: string;
}

/** A recording; null stands for what its file does not say, as one that is damaged. */
export interface ListedRecording {
  name: string;
  file: string;
  bytes: number;
  began_utc: string | null;
  duration_s: number | null;
  ticks: number | null;
  gaps: number | null;
  why: "request" | "motion" | "always" | "teaching" | null;
  /** Whose results are in it. */
  motions: string[];
  /** With which codes they ended. */
  codes: string[];
  /** Whether it is marked to be kept: nothing removes it but a request. */
  kept: boolean;
  /** Whether it goes on. */
  is_written: boolean;
}

/** Where a joint has its positions from: `sign * joint of the leader + offset`, as in a motion map. */
export interface MappedJointRequest {
  from: string;
  sign?: 1 | -1;
  offset?: number;
  unit?: "rad" | "deg" | "m" | "cm" | "mm" | "SI" | null;
}

/** What a motion asks of actuators. */
export interface MotionEffort {
  joints: JointEffort[];
}

/** The motions of a robot. */
export interface MotionsReport {
  motions: ListedMotion[];
  /** How many are not listed; they can be played, too. */
  more?: number;
  /** Folders and files that could not be read the last time; what they held before stays. */
  problems?: string[];
}

/** Let a motion that waits have another place in the queue, from 1; beyond the last it is the last. */
export interface MoveInQueueRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  goal_id: string;
  place: number;
}

/** Where on a motion two links, or a link and a shape of the workspace, are nearest to each other. */
export interface NearestLinks {
  links: string[];
  /** Negative where they are in each other. */
  distance_m: number;
  /** In s. */
  time: number;
  /** Of each the place nearest to the other, in m, in the frame of the description. */
  points: number[][];
  /** What counts as a collision (`collision.margin_m`). */
  margin_m: number;
  /** Where all joints are then, in rad or m; those that it does not move where the description begins. */
  posture: number[];
}

/** How a goal ended. */
export interface PastResult {
  /** Grows with each result. */
  id: number;
  /** ISO 8601, in UTC. */
  ended_utc: string;
  goal_id: string;
  motion: string;
  code: string;
  /** At most 2,000 characters of it. */
  message: string;
  asked_by: string | null;
  played_s: number | null;
  worst_error: WorstError | null;
  peak_effort: PeakEffort | null;
  /** Null where it had not begun. */
  missed_deadlines: number | null;
  /** The recording in which it is; null where it was not recorded. */
  recording: string | null;
  /** Null where they are longer than 4 kB. */
  details: Record<string, unknown> | null;
}

/** Slow down on the path and wait there; `goal_id` as of `PlayingRequest`. */
export interface PauseRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  goal_id?: string | null;
}

/** The joint that worked hardest for what it may. */
export interface PeakEffort {
  joint: string;
  /** Its largest effort, without sign, in its unit. */
  value: number;
  unit: "N·m" | "N";
}

/** A place on a motion: one of the three. */
export interface PlaceRequest {
  frame?: number | null;
  time?: number | null;
  marker?: string | null;
}

/** Play a motion; the answer means accepted, and the end arrives as a result. */
export interface PlayRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  motion: string;
  speed?: number;
  loop?: number | "forever";
  ping_pong?: boolean;
  first?: PlaceRequest | null;
  last?: PlaceRequest | null;
  seam?: "reject" | "approach";
  path_tolerance?: Record<string, number>;
  goal_tolerance?: Record<string, number>;
  goal_time_tolerance?: number | -1;
  source?: "reference" | "feedback";
  additive?: boolean;
  weight?: number;
  ramp_s?: number;
  start_at?: number | null;
  on_busy?: "reject" | "queue" | "replace" | "beside" | "blend";
  blend_s?: number;
}

/** One of the goals that play. */
export interface PlayingGoal {
  goal_id: string;
  motion: string;
  /** Those that it moves. */
  joints: string[];
  state: State;
  /** Of a motion, as it was asked for last; 1 is the file's. */
  speed: number | null;
  /** Whether it plays beside others, on joints of its own, or is added to them. */
  beside: boolean;
  /** Whether it is added to what plays, or is held. */
  additive: boolean;
  /** Of what is added; null for all else. */
  weight: number | null;
}

/** The robot is reserved for a start of its group. */
export interface PrepareAnswer {
  start: string;
  /** What a commit or a release of the start has to carry; null where the client has it already. */
  token: string | null;
  /** How long before the first row the robot has to be committed, in s. */
  ready_in_s: number;
  /** How long its passes take, in s; null where they never end. */
  duration_s: number | null;
  /** Unix time in s at which the reservation is released if nothing is committed. */
  expires_at: number;
  clock: ClockReport;
}

/** Plan a motion from where the robot stands, and reserve the robot for a start of its group. */
export interface PrepareRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  motion: string;
  speed?: number;
  loop?: number | "forever";
  ping_pong?: boolean;
  first?: PlaceRequest | null;
  last?: PlaceRequest | null;
  seam?: "reject" | "approach";
  path_tolerance?: Record<string, number>;
  goal_tolerance?: Record<string, number>;
  goal_time_tolerance?: number | -1;
  start: string;
  asked_by?: string | null;
  token?: string | null;
  token_sha256?: string | null;
  expires_s?: number;
}

/** What the goal does now. */
export interface ProgressAnswer {
  state: State;
  goal_id: string;
}

/** What waits, in its order. */
export interface QueueAnswer {
  queue: QueuedGoal[];
}

/** List the motions that wait for the one that plays. */
export interface QueueRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** A goal that waits. */
export interface QueuedGoal {
  goal_id: string;
  motion: string;
}

/** Ticks per second. */
export interface Rates {
  idle_hz: number;
  /** The highest rate at which the driver takes setpoints; null until it is open. */
  max_hz: number | null;
}

/** Restart servos, by the names of their joints or actuators; only where the robot does not hold. */
export interface RebootServosRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  servos: string[];
}

/** What is recorded now; the numbers are those of the file that is written. */
export interface RecordingReport {
  recording: boolean;
  /** Its name, in the folder for recordings. */
  file: string | null;
  why: "request" | "motion" | "always" | "teaching" | null;
  /** When the file began: ISO 8601, in UTC. */
  since_utc: string | null;
  ticks: number;
  /** How many times ticks are missing between two that are there. */
  gaps: number;
  bytes: number;
  /** Why the last recording could not go on; null once one goes on again. */
  problem: string | null;
}

/** The robot's recordings, the newest first. */
export interface RecordingsAnswer {
  /** At most 200 of those that are finished, and the one that is being written. */
  recordings: ListedRecording[];
  /** How many there are, those included that are not listed. */
  count: number;
  /** What all of them take, those included that are not listed. */
  bytes: number;
  /** What they may take. */
  keep_bytes: number;
}

/** List the robot's recordings, the newest first. */
export interface RecordingsRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** Servos were restarted and answer again, or their errors were cleared. */
export interface RecoveryAnswer {
  actuators: string[];
  state: State;
  /** Why the robot is still offline or in fault. */
  message: string;
}

/** A request was refused. */
export interface Refusal {
  status: "error";
  /** For programs. */
  code: "INVALID_REQUEST" | "UNKNOWN_VERB" | "UNKNOWN_ROBOT" | "RETAINED" | "EXPIRED" | "BUSY" | "NOT_PLAYING" | "UNKNOWN_MOTION" | "UNKNOWN_RECORDING" | "NOT_RECORDING" | "DISK_TROUBLE" | "UNKNOWN_POSE" | "UNKNOWN_MODEL" | "UNKNOWN_GOAL" | "UNKNOWN_PLACE" | "UNKNOWN_GROUP" | "MEMBER_REFUSED" | "CLOCK" | "TOO_LATE" | "INVALID_MOTION" | "ESTOPPED" | "FAULT" | "OFFLINE" | "NOT_ALLOWED" | "RESERVED" | "NOT_RESERVED" | "NOT_IN_CONTROL" | "CANCELED" | "PREEMPTED" | "TIMEOUT" | "TOO_LARGE" | "INTERNAL";
  /** For people: what is wrong, why, and how to fix it; one line for each problem. */
  error: string;
  /** The same in parts, where it is not the message of what was asked for there. */
  problems?: RefusedProblem[];
  /** What a program may want to know besides. */
  data: Record<string, unknown>;
  /** That of the request, where it could be read. */
  transaction: string | null;
}

/** One thing that is wrong, in parts; those that are empty are left out. */
export interface RefusedProblem {
  /** The robot, the robot and the verb, or the motion. */
  subject?: string;
  problem: string;
  reason?: string;
  /** What the client can do. */
  hint?: string;
  /** The key of the request. */
  field?: string;
}

/** Return control of the robot; what plays or waits plays on. */
export interface ReleaseLeaseRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** The robot takes no part in the start any more. */
export interface ReleaseStartAnswer {
  start: string;
}

/** Take the robot out of a start of its group; `token` is the secret of `fleet/prepare`. */
export interface ReleaseStartRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  start: string;
  token: string;
}

/** Read the motion folders again. */
export interface ReloadMotionsRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** Remove one motion that waits from the queue. */
export interface RemoveFromQueueRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  goal_id: string;
}

/** Keep control of the robot for as long again. */
export interface RenewLeaseRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** What the robot does now. */
export interface ResetAnswer {
  state: State;
}

/** Leave `estopped` or `fault`. */
export interface ResetRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** How a goal ended. */
export type ResultCode = "SUCCESSFUL" | "INVALID_GOAL" | "PATH_TOLERANCE_VIOLATED" | "GOAL_TOLERANCE_VIOLATED" | "CANCELED" | "PREEMPTED" | "ESTOP" | "HARDWARE_FAULT" | "COMM_LOST" | "DEADLINE_MISSED";

/** How a goal ended, as it is reported. */
export interface ResultReport {
  goal_id: string;
  motion: string;
  code: ResultCode;
  /** For people: what happened, and why. */
  message: string;
  /** That of the request. */
  transaction: string | null;
  /** Who asked for it, for people; null where that is not known. */
  asked_by: string | null;
  /** Null where it had not begun. */
  played_s: number | null;
  /** The facts behind the code: joint, value, limit, unit, time; `reached_goal`, `final_error`. */
  details: Record<string, unknown>;
  /** What was found of it as it began, and what was changed so that it could be played. */
  warnings: string[];
  /** Whether it played beside others, or was added to them. */
  beside: boolean;
  /** Null where it had not begun. */
  timing: GoalTiming | null;
  /** On the motion, ways towards it apart; null where it was not on it, or no feedback came. */
  worst_error: WorstError | null;
  /** Likewise; by share of the joint's limit, of joints that have one if there are any. */
  peak_effort: PeakEffort | null;
  /** The recording in which it is; null where it was not recorded. */
  recording: string | null;
  /** What the robot then does by itself. */
  follows: "queue" | "hold" | "release" | "park" | null;
  /** Counts the results of the robot since the daemon started, from 1. */
  sequence: number;
  /** When it was reported: ISO 8601, in UTC. */
  stamp_utc: string;
}

/** Go on along the path; `goal_id` as of `PlayingRequest`. */
export interface ResumeRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  goal_id?: string | null;
}

/** What a robot does now; from `frame` on only with a motion, and `follow` only while it follows. */
export interface RobotStatus {
  state: State;
  /** Whether any actuator holds by what it reports, whoever has switched it on; where it reports nothing, by what motiond has asked of it. */
  torque: boolean;
  /** The actuators that do not hold while others do. */
  loose: string[];
  estop_latched: boolean;
  /** Why it is offline or in fault, or which check fails. */
  message: string;
  /** The joints whose actuators it is offline or in fault for, as far as its driver names them. */
  failed: string[];
  /** While it goes back to where it held, as something has moved it: what was moved furthest. */
  displaced: Displacement | null;
  motion: string | null;
  goal_id: string | null;
  /** How many motions wait. */
  queued: number;
  /** All that plays, what plays beside others last; the keys about a motion are of one that does not. */
  goals: PlayingGoal[];
  /** Of the file. */
  frame?: number;
  /** In s, at speed 1. */
  time?: number;
  /** In s, at speed 1. */
  duration?: number;
  /** Of the pass, 0 to 1. */
  progress?: number;
  speed?: number;
  /** The pass that plays. */
  loop?: number;
  /** How many there are; null: without end. */
  loops?: number | null;
  /** Unix time in s at which the first row is due; null where it was not appointed. */
  start_at?: number | null;
  /** Of a sequence. */
  step?: StepReport;
  follow?: FollowStatus;
}

/** Where it is kept. */
export interface SaveGamepadAnswer {
  file: string;
}

/** Keep how a gamepad jogs the robot. */
export interface SaveGamepadRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  mapping: GamepadMapping;
}

/** What a motion that was taught is like. */
export interface SaveTaughtAnswer {
  motion: string;
  file: string;
  duration_s: number;
  rows: number;
  /** By joint: how far it is from what was recorded at most, in rad or m; of a pose, from the pose. */
  deviation: Record<string, number>;
  peaks: TaughtPeak[];
  /** Why it cannot be played, and what was changed so that it can. */
  problems: string[];
  saved: boolean;
}

/** Make a motion of what was taught, and save it under a name; as often as wanted. */
export interface SaveTaughtRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  name: string;
  from?: "movement" | "poses";
  first_s?: number | null;
  last_s?: number | null;
  trim?: boolean;
  smooth_rad?: number;
  smooth_m?: number;
  rate_hz?: number | null;
  at_poses?: "rest" | "through";
  speed?: number;
  /** Whether the motion of this name may be replaced that was saved before. */
  replace?: boolean;
  dry?: boolean;
}

/** Go to another place of the motion, by a way of its own, and play on from there if it played. */
export interface SeekRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  goal_id?: string | null;
  frame?: number | null;
  time?: number | null;
  marker?: string | null;
}

/** Play several motions as one goal, with blends, ways between, pauses and repeats. */
export interface SequenceRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  steps: StepRequest[];
  repeat?: number | "forever";
  on_busy?: "reject" | "queue" | "replace" | "beside" | "blend";
}

/** What went wrong with each joint's actuator since the daemon's start, as far as its driver counts it. */
export interface ServoErrors {
  /** Questions without a sound answer in time. */
  missed: number[];
  /** Answers with a wrong checksum or length, which are missed as well. */
  damaged: number[];
  /** Errors that it has reported of itself. */
  reported: number[];
  /** How often it has restarted by itself. */
  restarts: number[];
}

/** At what speed a goal plays from now on. */
export interface SpeedAnswer {
  speed: number;
  goal_id: string;
}

/** Play at another speed from now on; 1 is the file's. `goal_id` as of `PlayingRequest`. */
export interface SpeedRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  goal_id?: string | null;
  speed: number;
}

/** How some durations are spread, in s. */
export interface Spread {
  p50: number;
  p99: number;
  max: number;
}

/** The joint that has the longest way to the first row. */
export interface StartDistance {
  joint: string;
  value: number;
  unit: "rad" | "m";
}

/** The robot follows targets of this goal; its end comes as a result. */
export interface StartFollowAnswer {
  goal_id: string;
  /** In the order of targets' values. */
  joints: string[];
  rate_hz: number;
}

/** Follow targets as they come, within the robot's limits, until `follow/stop`. */
export interface StartFollowRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  joints?: string[] | null;
  mode?: "position" | "velocity" | "twist";
  timeout_s?: number;
  rate_hz?: number | null;
  on_busy?: "reject" | "replace";
  frame?: string | null;
  reference?: "base" | "tool";
  free?: ("vx" | "vy" | "vz" | "wx" | "wy" | "wz")[];
  leader?: string | null;
  map?: Record<string, MappedJointRequest>;
  ignore?: string[] | "others";
  keep_alive_s?: number | null;
}

/** What is recorded now. */
export interface StartRecordingAnswer {
  /** Its name, in the folder for recordings. */
  file: string;
}

/** Record every tick from now on. */
export interface StartRecordingRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  /** A part of the file's name. */
  name?: string | null;
}

/** The robot can be moved by hand. */
export interface StartTeachingAnswer {
  state: State;
  mode: "released" | "gravity";
}

/** Let the robot be moved by hand, and record that; it may drop. */
export interface StartTeachingRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  mode?: "released" | "gravity";
  name?: string | null;
  replace?: boolean;
}

/** What a robot does; the order is that of the numbers in telemetry records. */
export type State = "offline" | "idle" | "approaching" | "playing" | "pausing" | "paused" | "stopping" | "estopped" | "fault" | "teaching" | "following";

/** What a robot does, as it is reported. */
export interface StateReport {
  state: State;
  /** Whether any actuator holds by what it reports, whoever has switched it on; where it reports nothing, by what motiond has asked of it. */
  torque: boolean;
  /** The actuators that do not hold while others do. */
  loose: string[];
  estop_latched: boolean;
  /** Why it is offline or in fault, or which check fails. */
  message: string;
  /** The joints whose actuators it is offline or in fault for, as far as its driver names them. */
  failed: string[];
  /** While it goes back to where it held, as something has moved it: what was moved furthest. */
  displaced: Displacement | null;
  motion: string | null;
  goal_id: string | null;
  /** How many motions wait. */
  queued: number;
  /** All that plays, what plays beside others last; the keys about a motion are of one that does not. */
  goals: PlayingGoal[];
  /** Of the file. */
  frame?: number;
  /** In s, at speed 1. */
  time?: number;
  /** In s, at speed 1. */
  duration?: number;
  /** Of the pass, 0 to 1. */
  progress?: number;
  speed?: number;
  /** The pass that plays. */
  loop?: number;
  /** How many there are; null: without end. */
  loops?: number | null;
  /** Unix time in s at which the first row is due; null where it was not appointed. */
  start_at?: number | null;
  /** Of a sequence. */
  step?: StepReport;
  follow?: FollowStatus;
  /** Counts the states that the robot has reported since the daemon started, from 1. */
  sequence: number;
  /** When it was reported: ISO 8601, in UTC. */
  stamp_utc: string;
}

/** Report what the robot does now. */
export interface StatusRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** Which step of a sequence plays. */
export interface StepReport {
  /** Its number in the request, from 0. */
  step: number;
  motion: string;
  /** For which time, from 1. */
  time: number;
}

/** A motion in a sequence. */
export interface StepRequest {
  motion: string;
  blend_s?: number;
  pause_s?: number;
  repeat?: number;
  speed?: number;
}

/** A stop was accepted; the end of the goal comes as a result. */
export interface StopAnswer {
  state: State;
  /** Whether there are actuators to stop: false where the robot is offline. */
  reached: boolean;
  /** Why they were not reached. */
  message: string;
  /** What was wrong with the request. */
  ignored?: string;
  /** Of several that played, the first; null where nothing did. */
  goal_id: string | null;
  stops_within_s: number;
  /** Whether the robot was moved by hand until then. */
  ended_teaching: boolean;
  /** Whether all actuators hold; where not, it drops once it is let go. */
  holds: boolean;
}

/** The robot is about to stop; the end of the goal comes as a result. */
export interface StopFollowAnswer {
  state: State;
  goal_id: string;
  stops_within_s: number;
}

/** Stop softly, and end what is followed well. */
export interface StopFollowRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  goal_id?: string | null;
}

/** What was recorded; of one that went over several files, the last. */
export interface StopRecordingAnswer {
  file: string;
  ticks: number;
  /** How many times ticks are missing between two that are there. */
  gaps: number;
  /** From the first tick to the last. */
  duration_s: number;
  bytes: number;
}

/** End what is recorded, whatever began it; answered once the file is whole. */
export interface StopRecordingRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** Stop softly, on the path, and clear the queue; allowed at any time. */
export interface StopRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  goal_id?: string | null;
}

/** The robot is not moved by hand any more; where that has ended by itself, what has been since then. */
export interface StopTeachingAnswer {
  state: State;
  /** Of what was recorded. */
  duration_s: number;
  /** Ticks that were recorded. */
  rows: number;
  poses: number;
  /** With whether it held then. */
  ended_because: string;
  /** Whether the robot holds now; where not, it drops once it is let go. */
  holds: boolean;
  /** Why no motion can be made of it, and what is missing. */
  problems: string[];
}

/** Take hold where the robot is, and keep what was moved until the next `teach/start`. */
export interface StopTeachingRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
}

/** Get control of the robot, whoever has it; the other loses it. */
export interface TakeLeaseRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  /** By which others see the client. */
  holder: string;
}

/** The target was passed on; what became of it is in the state. */
export interface TargetAnswer {
  goal_id: string;
}

/** Go on to this target: positions, velocities or a twist, by what is followed. */
export interface TargetRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  goal_id: string;
  positions?: (number | null)[] | null;
  velocities?: (number | null)[] | null;
  twist?: number[] | null;
  sent_at?: number | null;
}

/** What a joint does at most by the motion's own time, in rad or m, per second. */
export interface TaughtPeak {
  joint: string;
  unit: "rad" | "m";
  lowest: number;
  highest: number;
  velocity: number;
  acceleration: number;
}

/** What a robot is being taught by hand, and what it was taught last. */
export interface TeachingReport {
  /** Null while nobody moves it by hand. */
  mode: "released" | "gravity" | null;
  /** When that began: ISO 8601, in UTC. */
  since_utc: string | null;
  /** Since then. */
  duration_s: number;
  poses: KeptPose[];
  /** Null before the first time, and while the robot is taught. */
  draft: DraftReport | null;
  /** Why it is not taught any more, and whether the robot holds. */
  message: string;
  /** Whether it held when that ended; false also where nobody knows. Null before, and while it is taught. */
  holds: boolean | null;
}

/** Whether the actuators hold. */
export interface TorqueAnswer {
  state: State;
  torque: boolean;
}

/** Switch torque on or off: `enable` and `disable` for those who have one topic for both. */
export interface TorqueRequest {
  /** Comes back in the answer; a repeated one gets its first answer again and acts once. */
  transaction?: string | null;
  /** Unix time in s after which the request is refused. */
  expires_at?: number | null;
  /** What was given to the client with control of the robot, where that is required. */
  lease?: string | null;
  on: boolean;
}

/** The joint that was furthest from its setpoint. */
export interface WorstError {
  joint: string;
  /** How far, in its unit. */
  value: number;
  unit: "rad" | "m";
}

/** What robots report, but for telemetry. */
export type Report =
  | { robot: string; subject: "availability"; data: AvailabilityReport }
  | { robot: string; subject: "state"; data: StateReport }
  | { robot: string; subject: "description"; data: DescriptionReport }
  | { robot: string; subject: "motions"; data: MotionsReport }
  | { robot: string; subject: "lease"; data: LeaseReport }
  | { robot: string; subject: "teaching"; data: TeachingReport }
  | { robot: string; subject: "result"; data: ResultReport }
  | { robot: string; subject: "event"; data: EventReport }
  | { robot: string; subject: "diagnostics"; data: DiagnosticsReport }
  | { robot: string; subject: "recording"; data: RecordingReport }
  ;

/** What robots can be asked for. */
export interface Verbs {
  "play": { request: PlayRequest; answer: GoalAnswer };
  "sequence": { request: SequenceRequest; answer: GoalAnswer };
  "goto": { request: GotoRequest; answer: GoalAnswer };
  "pause": { request: PauseRequest; answer: ProgressAnswer };
  "resume": { request: ResumeRequest; answer: ProgressAnswer };
  "speed": { request: SpeedRequest; answer: SpeedAnswer };
  "seek": { request: SeekRequest; answer: ProgressAnswer };
  "follow/start": { request: StartFollowRequest; answer: StartFollowAnswer };
  "follow/target": { request: TargetRequest; answer: TargetAnswer };
  "follow/chunk": { request: ChunkRequest; answer: TargetAnswer };
  "follow/keep_alive": { request: KeepAliveRequest; answer: KeepAliveAnswer };
  "follow/stop": { request: StopFollowRequest; answer: StopFollowAnswer };
  "enable": { request: EnableRequest; answer: TorqueAnswer };
  "disable": { request: DisableRequest; answer: TorqueAnswer };
  "torque": { request: TorqueRequest; answer: TorqueAnswer };
  "servo/reboot": { request: RebootServosRequest; answer: RecoveryAnswer };
  "servo/clear": { request: ClearServosRequest; answer: RecoveryAnswer };
  "fault": { request: FaultRequest; answer: FaultAnswer };
  "queue": { request: QueueRequest; answer: QueueAnswer };
  "queue/remove": { request: RemoveFromQueueRequest; answer: QueueAnswer };
  "queue/move": { request: MoveInQueueRequest; answer: QueueAnswer };
  "queue/clear": { request: ClearQueueRequest; answer: ClearQueueAnswer };
  "stop": { request: StopRequest; answer: StopAnswer };
  "estop": { request: EstopRequest; answer: EstopAnswer };
  "reset": { request: ResetRequest; answer: ResetAnswer };
  "teach/start": { request: StartTeachingRequest; answer: StartTeachingAnswer };
  "teach/pose": { request: KeepPoseRequest; answer: KeepPoseAnswer };
  "teach/stop": { request: StopTeachingRequest; answer: StopTeachingAnswer };
  "teach/save": { request: SaveTaughtRequest; answer: SaveTaughtAnswer };
  "lease/acquire": { request: AcquireLeaseRequest; answer: LeaseAnswer };
  "lease/renew": { request: RenewLeaseRequest; answer: LeaseAnswer };
  "lease/release": { request: ReleaseLeaseRequest; answer: LeaseAnswer };
  "lease/take": { request: TakeLeaseRequest; answer: LeaseAnswer };
  "status": { request: StatusRequest; answer: RobotStatus };
  "motions/delete": { request: DeleteMotionRequest; answer: DeletedAnswer };
  "motions/reload": { request: ReloadMotionsRequest; answer: MotionsReport };
  "record/start": { request: StartRecordingRequest; answer: StartRecordingAnswer };
  "record/stop": { request: StopRecordingRequest; answer: StopRecordingAnswer };
  "recordings": { request: RecordingsRequest; answer: RecordingsAnswer };
  "recordings/keep": { request: KeepRecordingRequest; answer: KeepRecordingAnswer };
  "recordings/delete": { request: DeleteRecordingRequest; answer: DeleteRecordingAnswer };
  "gamepad": { request: GamepadRequest; answer: GamepadAnswer };
  "gamepad/save": { request: SaveGamepadRequest; answer: SaveGamepadAnswer };
  "fleet/prepare": { request: PrepareRequest; answer: PrepareAnswer };
  "fleet/commit": { request: CommitRequest; answer: CommitAnswer };
  "fleet/release": { request: ReleaseStartRequest; answer: ReleaseStartAnswer };
  "history": { request: HistoryRequest; answer: HistoryAnswer };
}

export const STOPS: ReadonlySet<string> = new Set(["estop", "stop"]);

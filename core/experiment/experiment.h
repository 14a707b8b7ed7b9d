// SPDX-License-Identifier: GPL-3.0-or-later
// Experiment document that a user saves: topology, model, data, strategy, training and run.
#pragma once

#include <string>
#include <vector>

#include "core/collective/algorithm.h"
#include "core/compute/compression/scheme.h"
#include "core/data/dataset.h"
#include "core/model/model_spec.h"
#include "core/topology/topology.h"

namespace trainyard::experiment {

inline constexpr int kVersion = 2;  // Version of the document format; see versions.h.

enum class StrategyKind {
  one_device,  // Everything on one device, without communication.
  // A replica on every device. Gradients are all-reduced in buckets during the backward pass.
  mirrored,
  multi_worker_mirrored,  // As mirrored over several hosts, in lockstep.
  ddp,                    // As mirrored, after rank 0 has broadcast its parameters once.
  // The host's cpu keeps the variables, sums the gradients of the other devices, and updates.
  central_storage,
  // Rank 0 has the parameters, the samples and the loss. At every step it sends parameters and
  // samples to the other ranks, which return outputs and gradients.
  data_parallel,
  // Parameter servers have the variables. Workers pull the variables, compute gradients, and push
  // the gradients to the servers. The servers update the variables.
  parameter_server,
  // A replica with local parameters on every device, averaged with its neighbors only (D-PSGD,
  // AD-PSGD).
  gossip,
  // A replica on every device, with local parameters. Every H steps all replicas are averaged, or
  // pulled toward a center.
  local_sgd,
  // Like `mirrored`, but on (emulated) TPUs in a torus. Inputs of matrix multiplications are
  // bfloat16. Gradients are summed along the rows and the columns of the torus.
  tpu,
  // Each device has some layers. Activations of every sample pass from device to device, and
  // gradients pass back.
  model_parallel,
  pipeline,  // As model_parallel, in stages that process several micro-batches concurrently.
  // Different samples as in ddp, but each device keeps only 1/n of parameters, gradients and
  // moments.
  fsdp,
  // Each layer is split: every device has some rows or columns of the layer, and all devices take
  // the same samples.
  tensor_parallel,
  // A mesh of devices. Replicas take different samples; each replica is a pipeline of stages, and
  // devices of a stage split its layers.
  hybrid,
  // Trainers take different samples and call layers that parameter servers keep. Servers return
  // outputs and gradients.
  rpc,
};

// Quantity that ranks average at every step. Each rank's value is weighted by its number of
// samples.
enum class AveragedQuantity {
  gradients,  // All ranks then make the same update.
  weights,    // After each rank has updated with its local gradient and local moments.
};

enum class Engine {
  // The implementation of Trainyard: each collective is a sequence of visible sends and receives
  // (see `algorithm`).
  own,
  gloo,  // The library that PyTorch uses on CPUs, over TCP. Each collective is a single op.
  nccl,  // NVIDIA's library for its GPUs. Each collective is a single op.
};

using compute::compression::CompressionSpec;

// Rule for when a server applies pushed gradients and replies (plan/arrivals.h).
enum class ServerMode {
  asynchronous,  // Applies every gradient on arrival.
  synchronous,   // Applies the gradients of all workers together.
  softsync,      // Updates after λ/n gradients from any workers; workers do not wait.
  // Applies every gradient on arrival. No worker may be more than `bound` rounds ahead of the
  // slowest one.
  stale_synchronous,
  backup_workers,  // Applies the first λ - b gradients of a step; drops the rest.
};

// Placement of variables on servers.
enum class VariablePlacement {
  balanced,     // All servers hold equally much; a variable may be split.
  round_robin,  // Full variables, assigned to servers in turn.
  // Full variables on the servers that `places` names. Each variable without an entry goes to the
  // server that has the fewest elements so far.
  by_hand,
};

struct VariablePlacementEntry {
  std::string variable;     // Name of the variable, for example "0.weight".
  std::int64_t server = 0;  // Index of the server, from 0.

  bool operator==(const VariablePlacementEntry&) const = default;
};

// Adjustment of the learning rate for stale gradients.
enum class StalenessRate {
  ignored,
  // The learning rate is divided by the mean staleness of the update's gradients if that mean is
  // above 1 (Zhang, Gupta, Lian, Liu 2016).
  divided,
};

// Transfer of embedding tables: the rows that workers pull from servers and push to them.
enum class TablePull {
  rows,   // Only the rows that the samples of the round look up.
  whole,  // The full table.
};

struct ServerSpec {
  ServerMode mode = ServerMode::asynchronous;
  std::int64_t softsync = 1;  // n: an update takes λ/n gradients.
  std::int64_t bound = 3;     // Limit of the mode stale_synchronous, in rounds.
  std::int64_t backups = 1;   // b: number of dropped gradients per step.
  VariablePlacement placement = VariablePlacement::balanced;
  StalenessRate staleness_rate = StalenessRate::ignored;
  std::vector<VariablePlacementEntry> places = {};
  double delay_compensation = 0;  // lambda of DC-ASGD (Zheng et al. 2017, eq. 10); 0: none.
  TablePull tables = TablePull::rows;

  bool operator==(const ServerSpec&) const = default;
};

// Synchronization of ranks: when ranks average, and with which neighbors.
enum class GossipMode {
  // Ranks average at every step, with all neighbors, which are at the same step (D-PSGD).
  synchronous,
  // Each rank trains at its own speed and averages with one neighbor at a time (AD-PSGD,
  // bipartition.h).
  asynchronous,
};

// Neighbor graph (mixing_matrix.h).
enum class GossipGraph { ring, exponential, torus, complete, drawn };

// Gossip weight of two neighbors a and b: weight of the parameters of b when a averages, and of the
// parameters of a when b averages.
struct GossipWeight {
  std::int64_t a = 0, b = 0;
  double weight = 0;

  bool operator==(const GossipWeight&) const = default;
};

struct GossipSpec {
  GossipMode mode = GossipMode::synchronous;
  GossipGraph graph = GossipGraph::ring;
  std::vector<GossipWeight> weights;  // Weights of pairs that differ from the Metropolis weights.
  // Interval at which the consensus distance is measured, in addition to every evaluation; 0: at
  // evaluations only.
  std::int64_t consensus_every_steps = 0;

  bool operator==(const GossipSpec&) const = default;
};

// Rule for the parameters of all ranks when they synchronize (local_sgd.h).
enum class LocalRule {
  average,  // All ranks take the mean.
  elastic,  // Each rank moves toward a center, and the center toward their mean.
};

struct LocalSgdSpec {
  std::int64_t average_every_steps = 8;  // H: steps between averages.
  LocalRule rule = LocalRule::average;
  double elasticity = 0;  // alpha; 0: 0.9 / ranks, set by resolve.

  bool operator==(const LocalSgdSpec&) const = default;
};

// Criterion by which layers are assigned to devices (stages.h).
enum class Partition {
  cost,     // Minimizes the longest time per sample of any stage, from operation counts.
  memory,   // Minimizes the largest memory (parameters, moments, activations) of any stage.
  by_hand,  // Layers are assigned as listed in `places`.
  // Minimizes the longest time per sample of any stage, from times of segments (`times`) that were
  // measured on this machine before the run.
  measured,
};

// Entry of a list of stages: name of the first segment of a stage, and rank of the stage. The stage
// ends before the first segment of the next entry.
struct StagePlace {
  std::string segment;  // Name of the first segment: "2", or "1.4" for a part of a block.
  std::int64_t rank = 0;

  bool operator==(const StagePlace&) const = default;
};

// Measured time of one segment (layer or part of a block) per sample, forward and backward.
struct SegmentTime {
  std::string segment;
  double seconds = 0;

  bool operator==(const SegmentTime&) const = default;
};

// Order in which a stage processes the micro-batches of a step, forward and backward (cells.h).
enum class PipelineSchedule {
  naive,                     // One micro-batch at a time, through all stages and back.
  gpipe,                     // All forward passes, then all backward passes.
  one_forward_one_backward,  // Backward as early as possible, alternating with forward.
  interleaved_1f1b,          // As one_forward_one_backward, with several stages per rank.
  zb_h1,                     // As one_forward_one_backward, with weight gradients delayed.
  // As one_forward_one_backward, but with an update after every micro-batch. The backward pass of a
  // micro-batch uses the same weight version as its forward pass.
  pipedream,
};

struct StageSpec {
  Partition partition = Partition::cost;
  std::vector<StagePlace> places = {};  // A resolved experiment has places for every partition.
  // Schedule of a pipeline; model_parallel always uses naive.
  PipelineSchedule schedule = PipelineSchedule::one_forward_one_backward;
  std::int64_t chunks = 2;  // Number of stages per rank for interleaved_1f1b.
  // Measured times of segments. Set in a resolved experiment if `partition` is `measured`.
  std::vector<SegmentTime> times = {};

  bool operator==(const StageSpec&) const = default;
};

// State that fsdp shards (ZeRO stage; Rajbhandari et al. 2020).
enum class Shard {
  // Parameters, gradients and moments (ZeRO-3). Units of parameters are gathered when needed.
  full,
  gradients,  // Gradients and moments (ZeRO-2).
  optimizer,  // Moments (ZeRO-1).
};

// Ranks among which one model is sharded.
enum class ShardGroup {
  world,  // All ranks.
  // The ranks of each host hold a full model together. Corresponding ranks of the hosts all-reduce
  // the gradients of their shards (hybrid sharding).
  host,
};

struct FsdpSpec {
  Shard shard = Shard::full;
  ShardGroup group = ShardGroup::world;
  // Only if `shard` is `full`: a unit's parameters are freed after its forward pass, and gathered
  // again for its backward pass.
  bool reshard_after_forward = true;
  std::int64_t prefetch = 1;  // Number of units that are gathered ahead, if parameters are sharded.

  bool operator==(const FsdpSpec&) const = default;
};

// Mesh shape of a hybrid: data x pipeline x tensor.
struct MeshSpec {
  std::int64_t data = 0;      // Replicas; 0: as many as the devices allow, set by resolve.
  std::int64_t pipeline = 1;  // Stages of a replica.
  std::int64_t tensor = 2;    // Devices that share the layers of a stage.
  bool shards_data = false;   // Replicas shard their state, with the options of `fsdp`.

  bool operator==(const MeshSpec&) const = default;
};

// Layers that the parameter servers of rpc keep. Every trainer has a replica of the other layers.
enum class RemoteLayers {
  embeddings,  // Embedding tables.
  all,         // All layers with parameters.
};

// Destination of a remote layer's output if another remote layer takes it as input.
enum class RemoteOutput {
  value,      // Back to the calling trainer, which sends it on.
  reference,  // From server to server; the trainer passes only a reference (RRef).
};

struct RpcSpec {
  RemoteLayers remote = RemoteLayers::all;
  RemoteOutput output = RemoteOutput::value;

  bool operator==(const RpcSpec&) const = default;
};

struct StrategySpec {
  StrategyKind kind = StrategyKind::mirrored;
  collective::Algorithm algorithm = collective::Algorithm::ring;
  std::int64_t bucket_bytes = 1'000'000;
  // Size of the pieces in which a bucket is reduced, so that transfer and addition overlap. 0:
  // chosen automatically, depending on whether ranks share memory. In a resolved experiment, 0
  // means that a bucket is reduced in one piece.
  std::int64_t segment_bytes = 0;
  // `algorithm` and `segment_bytes` have no effect if the engine is not `own`.
  Engine engine = Engine::own;
  AveragedQuantity average = AveragedQuantity::gradients;
  CompressionSpec compression;
  ServerSpec servers;
  GossipSpec gossip;
  LocalSgdSpec local_sgd;
  StageSpec stages;
  FsdpSpec fsdp;
  MeshSpec mesh;
  RpcSpec rpc;

  bool operator==(const StrategySpec&) const = default;
};

// `has_stages`: true if ranks may have only some layers of the model. `splits_model`: true if ranks
// have only a part of the model (layers, or parts of layers). All ranks of a replica then take the
// same samples.
constexpr bool has_stages(StrategyKind kind) {
  return kind == StrategyKind::model_parallel || kind == StrategyKind::pipeline ||
         kind == StrategyKind::hybrid || kind == StrategyKind::rpc;
}
constexpr bool splits_model(StrategyKind kind) {
  return has_stages(kind) || kind == StrategyKind::tensor_parallel;
}

// True if weights are averaged instead of gradients. `average` has an effect only for mirrored.
inline bool averages_weights(const StrategySpec& strategy) {
  return strategy.kind == StrategyKind::mirrored && strategy.average == AveragedQuantity::weights;
}

enum class OptimizerKind { sgd, adam, adamw };

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::sgd;
  double learning_rate = 0.1;
  double momentum = 0.9;
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

  bool operator==(const OptimizerSpec&) const = default;
};

enum class ScheduleKind {
  constant,
  step,    // Multiplies the learning rate by `factor` after every `every_steps`.
  cosine,  // Cosine decay from the learning rate to `final_fraction` of it at the last step.
};

struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::constant;
  std::int64_t warmup_steps = 0;  // Linear increase from 1/warmup_steps.
  std::int64_t every_steps = 1000;
  double factor = 0.1;
  double final_fraction = 0;

  bool operator==(const ScheduleSpec&) const = default;
};

enum class Precision {
  fp32,
  fp64,
  // Mixed precision: activations and inputs of matrix multiplications are bfloat16; parameters,
  // their gradients, moments and sums are fp32.
  bf16,
  fp16,  // As bf16 with binary16; the loss is scaled so that small gradients do not underflow.
};

// Loss scale of fp16, which keeps small gradients from underflowing (Micikevicius et al. 2018). It
// doubles after `double_every_steps` steps with finite gradients only. It is halved at a step with
// a non-finite gradient, which changes no weight.
struct LossScaleSpec {
  double initial = 65536;
  std::int64_t double_every_steps = 2000;
  double least = 1;  // The run ends if the scale falls below this.

  bool operator==(const LossScaleSpec&) const = default;
};

// Memory to which a device offloads values that it does not need for a while.
enum class OffloadTarget {
  nowhere,  // The values stay on the device.
  host,     // Host memory.
  disk,     // A file on disk.
};

struct OffloadSpec {
  OffloadTarget activations = OffloadTarget::nowhere;  // Outputs needed by the backward pass.
  OffloadTarget optimizer = OffloadTarget::nowhere;    // Moments.
  std::string directory = {};  // Directory of the files; empty: the run directory.

  bool operator==(const OffloadSpec&) const = default;
};

// Number format to which linear layers and convolutions round the inputs of matrix multiplications,
// forward and backward (`compute::Multiplies`).
enum class Multiplies {
  automatic,  // bfloat16 for the strategy tpu, else full.
  full,
  bfloat16,  // Rounded; sums and all other operations stay fp32.
  tf32,      // On GPUs; sums and all other operations stay fp32.
};

// Handling of a gradient with a non-finite element.
enum class NonFinite {
  go_on,  // The gradient is used, and makes the weights non-finite.
  stop,   // The run ends and names the rank and the segment.
  skip,   // If the sum over all ranks is not finite, the step changes no weight.
};

struct TrainingSpec {
  std::int64_t batch_per_rank = 32;  // Batch of one micro-step.
  std::int64_t accumulation_steps =
      1;  // Micro-steps per step. Their gradients are summed, followed by one update.
  // 0: all activations are kept from forward to backward. k > 0: of every k consecutive segments
  // only the input is kept, and their outputs are recomputed.
  std::int64_t recompute_segments = 0;
  std::int64_t epochs = 5;
  std::int64_t steps = 0;  // If above 0, the number of steps, overriding `epochs`.
  Precision precision = Precision::fp32;
  Multiplies multiplies = Multiplies::automatic;
  std::int64_t seed = 1;  // Seed of initial weights and sample order.
  OptimizerSpec optimizer;
  ScheduleSpec schedule;
  double clip_norm = 0;  // Maximum norm of the gradient; 0: no clipping.
  NonFinite non_finite = NonFinite::go_on;
  LossScaleSpec loss_scale;
  OffloadSpec swap;

  std::int64_t samples_per_rank() const {
    return batch_per_rank * accumulation_steps;
  }  // Samples per step.
  bool needs_gradient_norm() const {
    return clip_norm > 0 || non_finite == NonFinite::skip;
  }  // True if an update depends on the norm of the full gradient.
  bool operator==(const TrainingSpec&) const = default;
};

enum class TransportKind {
  automatic,  // shm within a host, zmq between hosts.
  inproc,     // Ranks are threads of one process.
  shm,        // Ranks are processes on this machine.
  zmq,        // Ranks are processes; all bytes go over sockets.
};

enum class LinkSpeed {
  drawn_only,  // Bytes travel as fast as this machine moves them.
  // Each direction of a link (and of a host's bus) is throttled to its drawn bandwidth, and delayed
  // by its drawn latency.
  imposed,
};

enum class DeviceSpeed {
  drawn_only,  // A device computes as fast as this machine does.
  paced,  // Compute ops take at least the time that the simulator predicts for the drawn device.
};

// Clock that determines the order of asynchronous events.
enum class RunClock {
  machine,  // Real time: each rank is a process, as fast as it is.
  // Virtual clock from the drawn speeds and the seed. All ranks are in one process; every run is
  // identical.
  virtual_time,
};

struct RunSpec {
  RunClock clock = RunClock::machine;
  TransportKind transport = TransportKind::automatic;
  LinkSpeed links = LinkSpeed::drawn_only;
  double link_scale = 1;  // Factor of imposed links: multiplies bandwidth, and divides latency.
  DeviceSpeed devices = DeviceSpeed::drawn_only;
  // Interval of evaluations; 0: once per epoch, and at the end.
  std::int64_t evaluate_every_steps = 0;
  double seconds_per_step = 0;  // Pace dial: minimum duration of a step; 0: full speed.
  bool emulate = true;  // Runs a drawn tpu, or a gpu not mapped to one of this machine, on its CPU.
  bool record_ops = true;  // Record op events, each with begin and end.
  // Limit of the size of the recording (telemetry/bounded_recording.h); 0: none.
  std::int64_t recording_limit_bytes = 200'000'000;
  double hang_seconds = 20;  // A run without progress for this long is considered hung.
  std::int64_t checkpoint_every_steps = 0;  // Interval of checkpoints; 0: only at the end.
  // Run directory whose newest checkpoint this run resumes from; empty: start from scratch.
  std::string resume_from = {};
  std::int64_t sampled_characters =
      200;  // Length of the text that a language model generates at every evaluation.
  double temperature = 0.8;  // Softmax temperature when sampling text.
  // Maximum number of restarts of failed workers in a run that continues without them.
  std::int64_t restarts = 0;

  bool operator==(const RunSpec&) const = default;
};

enum class Encryption {
  curve,  // encrypted and authenticated by CURVE, with keys of the run
  none,   // only in networks that the user trusts
};

// Connections between the machines of a run.
struct NetworkSpec {
  Encryption encryption = Encryption::curve;
  std::vector<std::string> trusted;  // networks in CIDR notation
  // Name of an interface, or a network in CIDR notation: ranks use the address of their machine
  // there. Empty: the address by which the coordinator reached the machine.
  std::string interface;

  bool operator==(const NetworkSpec&) const = default;
};

struct Experiment {
  std::int64_t version = kVersion;
  std::string name;
  std::string notes;
  topology::Topology topology;
  model::ModelSpec model;
  data::DataSpec data;
  StrategySpec strategy;
  TrainingSpec training;
  RunSpec run;
  NetworkSpec network;

  bool operator==(const Experiment&) const = default;
};

}  // namespace trainyard::experiment

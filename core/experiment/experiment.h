// SPDX-License-Identifier: GPL-3.0-or-later
// The document a user saves: topology, model, data, strategy, training and run.
#pragma once

#include <string>
#include <vector>

#include "core/collective/algorithm.h"
#include "core/compute/compression/scheme.h"
#include "core/data/dataset.h"
#include "core/model/model_spec.h"
#include "core/topology/topology.h"

namespace trainyard::experiment {

inline constexpr int kVersion = 1;

enum class StrategyKind {
  one_device,  // everything on one device, no communication
  mirrored,  // a replica on every device, gradients all-reduced in buckets while the backward pass
             // goes on
  multi_worker_mirrored,  // the same over several hosts, in lock-step
  ddp,                    // as mirrored, after rank 0 has broadcast its parameters once
  central_storage,  // variables on the host's cpu, which sums the gradients of the other devices
                    // and updates
  data_parallel,  // rank 0 has the parameters, the samples and the loss; the others are given both
                  // at every step, and return outputs and gradients
  parameter_server,  // variables on servers; workers pull, compute and push, each on its own clock
                     // or in step
  gossip,     // a replica on every device, with parameters of its own; it averages them with its
              // neighbours' alone (D-PSGD, AD-PSGD)
  local_sgd,  // a replica on every device, with parameters of its own; only every so many steps all
              // average them, or are pulled to a centre
  tpu,  // as mirrored, on TPUs (emulated) in a torus: factors of products are bfloat16, gradients
        // summed along rows and columns
  model_parallel,  // whole layers on devices: every sample passes from one to the next, and its
                   // gradient back
  pipeline,        // the same, in stages that have several micro-batches under way at once
  fsdp,  // samples apart as in ddp, but of parameters, gradients and moments each device keeps one
         // n-th
  tensor_parallel,  // layers themselves split: every device has some rows or columns of each, for
                    // the same samples
  hybrid,  // a mesh of devices: replicas apart by samples, each a pipeline of stages, whose layers
           // are split in turn
  rpc,  // trainers, each with samples of its own, call layers that parameter servers keep, and are
        // given outputs and gradients
};

// What ranks average at every step, weighted by samples.
enum class Average {
  gradients,  // and all make the same update
  weights,    // after each has made an update from its own gradient, with moments of its own
};

enum class Engine {
  own,   // Trainyard's: a collective is sends and receives, by `algorithm`, each of which is seen
  gloo,  // the library that PyTorch uses on CPUs, over TCP: it takes each collective whole
  nccl,  // NVIDIA's for its GPUs, likewise
};

using compute::compression::CompressionSpec;

// When a server applies what was pushed, and answers (plan/arrivals.h).
enum class ServerMode {
  asynchronous,       // every gradient at once
  synchronous,        // those of all workers together
  softsync,           // λ / n together, whose soever; nobody waits
  stale_synchronous,  // every gradient at once, but nobody gets further ahead of the slowest than a
                      // bound
  backup_workers,     // those of the first λ - b workers together; the rest are dropped
};

// On which server a variable lies.
enum class VariablePlacement {
  balanced,     // all servers have equally much, a variable may be cut
  round_robin,  // whole variables in turn
  by_hand,  // whole variables, where `places` says; each of the others on the server that has least
            // by then
};

struct VariablePlace {
  std::string variable;     // "0.weight"
  std::int64_t server = 0;  // from 0

  bool operator==(const VariablePlace&) const = default;
};

// What an update takes of the learning rate.
enum class StalenessRate {
  ignored,
  divided,  // by the mean staleness of its gradients, where that is more than 1 (Zhang, Gupta,
            // Lian, Liu 2016)
};

// What workers pull and push of a table that samples look rows up in.
enum class TablePull {
  rows,   // those that the samples of the round name
  whole,  // all of it
};

struct ServerSpec {
  ServerMode mode = ServerMode::asynchronous;
  std::int64_t softsync = 1;  // n
  std::int64_t bound = 3;     // of stale_synchronous, in rounds
  std::int64_t backups = 1;   // b
  VariablePlacement placement = VariablePlacement::balanced;
  StalenessRate staleness_rate = StalenessRate::ignored;
  std::vector<VariablePlace> places = {};
  double delay_compensation = 0;  // lambda of DC-ASGD (Zheng et al. 2017, eq. 10); 0: none
  TablePull tables = TablePull::rows;

  bool operator==(const ServerSpec&) const = default;
};

// When ranks average.
enum class GossipMode {
  synchronous,   // at every step with all neighbours, who are at the same step (D-PSGD)
  asynchronous,  // each rank on its own clock, with one neighbour at a time (AD-PSGD, halves.h)
};

// Who is whose neighbour (mixing.h).
enum class GossipGraph { ring, exponential, torus, complete, drawn };

// What rank b counts in what rank a gets, and the other way round.
struct GossipWeight {
  std::int64_t a = 0, b = 0;
  double weight = 0;

  bool operator==(const GossipWeight&) const = default;
};

struct GossipSpec {
  GossipMode mode = GossipMode::synchronous;
  GossipGraph graph = GossipGraph::ring;
  std::vector<GossipWeight> weights;  // of pairs whose weight is not that of Metropolis
  std::int64_t consensus_every_steps =
      0;  // measure how far ranks are apart, besides at every evaluation; 0: at evaluations only

  bool operator==(const GossipSpec&) const = default;
};

// What becomes of the parameters of all ranks when they meet (local_sgd.h).
enum class LocalRule {
  average,  // all take the mean
  elastic,  // each moves towards a centre, and the centre towards their mean
};

struct LocalSgdSpec {
  std::int64_t average_every_steps = 8;  // H
  LocalRule rule = LocalRule::average;
  double elasticity = 0;  // alpha; 0: 0.9 / ranks, which is resolved

  bool operator==(const LocalSgdSpec&) const = default;
};

// By what layers are shared out among devices (stages.h).
enum class Partition {
  cost,      // what takes longest for a sample, is as short as it can be
  memory,    // what has most parameters, moments and activations, has as few as it can
  by_hand,   // as `places` says
  measured,  // as cost, by the seconds that segments took on this machine before the run (`times`)
};

// From this segment on, to the next place, on this rank.
struct StagePlace {
  std::string segment;  // "2", or of a block "1.4"
  std::int64_t rank = 0;

  bool operator==(const StagePlace&) const = default;
};

// What a segment took for a sample, forward and backward.
struct SegmentTime {
  std::string segment;
  double seconds = 0;

  bool operator==(const SegmentTime&) const = default;
};

// In which order a stage takes the micro-batches of a step, forward and backward (cells.h).
enum class PipelineSchedule {
  naive,             // one micro-batch after the other, through all stages and back
  gpipe,             // all forward, then all backward
  one_f_one_b,       // backward as soon as may be, in turn with forward
  interleaved_1f1b,  // the same, with several stages on each rank
  zb_h1,             // as one_f_one_b, gradients of weights later
  pipedream,  // as one_f_one_b, but every micro-batch is an update of its own, and goes back by the
              // weights that it went forward by
};

struct StageSpec {
  Partition partition = Partition::cost;
  std::vector<StagePlace> places = {};  // resolved: of whatever partition
  PipelineSchedule schedule =
      PipelineSchedule::one_f_one_b;    // of pipeline; model_parallel is naive
  std::int64_t chunks = 2;              // of interleaved_1f1b: stages of a rank
  std::vector<SegmentTime> times = {};  // resolved: of a partition that is measured

  bool operator==(const StageSpec&) const = default;
};

// Of what a rank of fsdp keeps but its part between steps (Rajbhandari et al. 2020).
enum class Shard {
  full,  // parameters, gradients and moments (ZeRO-3): units of parameters are gathered when they
         // are needed
  gradients,  // gradients and moments (ZeRO-2)
  optimizer,  // moments (ZeRO-1)
};

// Among whom one model is shared out.
enum class ShardGroup {
  world,  // all ranks
  host,   // those of each host, which has all of it: hosts then sum what each of their ranks has
          // (hybrid shard)
};

struct FsdpSpec {
  Shard shard = Shard::full;
  ShardGroup group = ShardGroup::world;
  bool reshard_after_forward = true;  // of full: a unit is given up after its forward pass, and
                                      // gathered again for its backward pass
  std::int64_t prefetch = 1;          // of full: units that are gathered ahead

  bool operator==(const FsdpSpec&) const = default;
};

// The devices of a hybrid, in a mesh of data x pipeline x tensor.
struct MeshSpec {
  std::int64_t data = 0;      // replicas; 0: as many as there are devices for, which is resolved
  std::int64_t pipeline = 1;  // stages of a replica
  std::int64_t tensor = 2;    // devices that share the layers of a stage
  bool shards_data = false;   // replicas keep but their parts of what `fsdp` says

  bool operator==(const MeshSpec&) const = default;
};

// Which layers the parameter servers of rpc keep; trainers have the others, each a replica.
enum class RemoteLayers {
  embeddings,  // tables
  all,         // whatever has parameters
};

// Where an output of a remote layer goes that another one computes by.
enum class RemoteOutput {
  value,      // back to the trainer that called, which sends it on
  reference,  // from server to server; the trainer but says so (RRef)
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
  std::int64_t segment_bytes =
      0;  // 0: as ranks share memory or not; resolved: a bucket is reduced in one
  Engine engine = Engine::own;  // of another, neither algorithm nor segments mean anything
  Average average = Average::gradients;
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

// Whether a rank has but some layers of the model; or but a part of it, of whatever kind: then all
// ranks take the same samples.
constexpr bool has_stages(StrategyKind kind) {
  return kind == StrategyKind::model_parallel || kind == StrategyKind::pipeline ||
         kind == StrategyKind::hybrid || kind == StrategyKind::rpc;
}
constexpr bool splits_model(StrategyKind kind) {
  return has_stages(kind) || kind == StrategyKind::tensor_parallel;
}

// Whatever `average` says, where the strategy knows only one way.
inline bool averages_weights(const StrategySpec& strategy) {
  return strategy.kind == StrategyKind::mirrored && strategy.average == Average::weights;
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
  step,    // learning rate times `factor` after every `every_steps`
  cosine,  // from the learning rate to `final_fraction` of it at the last step
};

struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::constant;
  std::int64_t warmup_steps = 0;  // linear from 1/warmup_steps
  std::int64_t every_steps = 1000;
  double factor = 0.1;
  double final_fraction = 0;

  bool operator==(const ScheduleSpec&) const = default;
};

enum class Precision {
  fp32,
  fp64,
  bf16,  // mixed: what passes between layers, and factors of products, are bfloat16; parameters,
         // their gradients, moments and sums fp32
  fp16,  // the same of binary16, the loss scaled so that small gradients are not lost
};

// By what the loss is multiplied, so that no gradient is lost in fp16 (Micikevicius et al. 2018):
// it doubles after so many steps without a number that is not finite, and is halved at a step with
// one, which changes no weight.
struct LossScaleSpec {
  double initial = 65536;
  std::int64_t double_every_steps = 2000;
  double least = 1;  // smaller, the run ends

  bool operator==(const LossScaleSpec&) const = default;
};

// Where what a device needs again only later is meanwhile.
enum class SwapTo {
  nowhere,  // on the device
  host,     // in the host's memory
  disk,     // in a file
};

struct SwapSpec {
  SwapTo activations = SwapTo::nowhere;  // outputs that the backward pass asks for
  SwapTo optimizer = SwapTo::nowhere;    // moments
  std::string directory = {};            // of files; empty: the run's own

  bool operator==(const SwapSpec&) const = default;
};

// What products take of their factors: linear layers and convolutions, forward and backward
// (compute::Multiplies).
enum class Multiplies {
  automatic,  // bfloat16 where the strategy is tpu, else full
  full,
  bfloat16,  // rounded; sums, and all that is not multiplied, stay fp32
  tf32,      // of GPUs; sums, and all that is not multiplied, stay fp32
};

// What becomes of a gradient with a number in it that is infinite or none.
enum class NonFinite {
  go_on,  // it is used, and spoils the weights
  stop,   // the run ends, and names the rank and the segment
  skip,   // where the sum over all ranks is not finite, the step changes no weight
};

struct TrainingSpec {
  std::int64_t batch_per_rank = 32;  // of a micro-step
  std::int64_t accumulation_steps =
      1;  // micro-steps of a step: their gradients are added up, then there is one update
  std::int64_t recompute_segments = 0;  // 0: activations are kept from forward to backward; else of
                                        // so many segments in a row only what comes in
  std::int64_t epochs = 5;
  std::int64_t steps = 0;  // more than 0: this many steps, whatever `epochs` says
  Precision precision = Precision::fp32;
  Multiplies multiplies = Multiplies::automatic;
  std::int64_t seed = 1;  // of initial weights and sample order
  OptimizerSpec optimizer;
  ScheduleSpec schedule;
  double clip_norm = 0;  // 0: gradients are not clipped
  NonFinite non_finite = NonFinite::go_on;
  LossScaleSpec loss_scale;
  SwapSpec swap;

  std::int64_t samples_per_rank() const {
    return batch_per_rank * accumulation_steps;
  }  // of a step
  bool judges_gradients() const {
    return clip_norm > 0 || non_finite == NonFinite::skip;
  }  // by their whole norm, before an update
  bool operator==(const TrainingSpec&) const = default;
};

enum class TransportKind {
  automatic,  // shm within a host, zmq between hosts
  inproc,     // ranks are threads of one process
  shm,        // ranks are processes of this machine
  zmq,        // ranks are processes; every byte goes over sockets
};

enum class LinkSpeed {
  drawn_only,  // bytes travel as fast as this machine moves them
  imposed,     // each way of a link, busses of hosts too, passes no more than its drawn bandwidth,
               // after its drawn latency
};

enum class DeviceSpeed {
  drawn_only,  // a device computes as fast as this machine does
  paced,       // its compute ops take at least the time that the simulator says of the drawn device
};

// By what time asynchronous work goes, and so who comes before whom.
enum class RunClock {
  machine,  // each rank's own process, as fast as it is
  made_up,  // the drawn speeds and the seed: all ranks in one process, the same again every time
};

struct RunSpec {
  RunClock clock = RunClock::machine;
  TransportKind transport = TransportKind::automatic;
  LinkSpeed links = LinkSpeed::drawn_only;
  double link_scale = 1;  // of imposed links: bandwidth times this, latency divided by it
  DeviceSpeed devices = DeviceSpeed::drawn_only;
  std::int64_t evaluate_every_steps = 0;  // 0: once an epoch, and at the end
  double seconds_per_step = 0;  // the pace dial: at most one step in this time; 0: full speed
  bool emulate = true;     // run a drawn tpu, or gpu that names none of this machine's, on its CPU
  bool record_ops = true;  // op events: a begin and an end each
  double hang_seconds = 20;                 // a rank without progress for so long has hung
  std::int64_t checkpoint_every_steps = 0;  // 0: at the end alone
  std::string resume_from = {};  // a run directory: its newest checkpoint is where this run begins;
                                 // empty: at the beginning
  std::int64_t sampled_characters =
      200;  // of text that a language model makes up whenever held-out samples are measured
  double temperature = 0.8;   // of what it foretells of them
  std::int64_t restarts = 0;  // of workers that were lost, where the others go on without them

  bool operator==(const RunSpec&) const = default;
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

  bool operator==(const Experiment&) const = default;
};

}  // namespace trainyard::experiment

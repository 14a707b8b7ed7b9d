// SPDX-License-Identifier: GPL-3.0-or-later
// Field tables of the experiment: names, units, ranges and help of everything a user can set.
#pragma once

#include "core/experiment/rank_duties.h"

namespace trainyard::base {

template <>
struct Names<experiment::StrategyKind> {
  using K = experiment::StrategyKind;
  static constexpr std::pair<K, std::string_view> table[] = {
      {K::one_device, "one_device"},
      {K::mirrored, "mirrored"},
      {K::multi_worker_mirrored, "multi_worker_mirrored"},
      {K::ddp, "ddp"},
      {K::central_storage, "central_storage"},
      {K::data_parallel, "data_parallel"},
      {K::parameter_server, "parameter_server"},
      {K::gossip, "gossip"},
      {K::local_sgd, "local_sgd"},
      {K::tpu, "tpu"},
      {K::model_parallel, "model_parallel"},
      {K::pipeline, "pipeline"},
      {K::fsdp, "fsdp"},
      {K::tensor_parallel, "tensor_parallel"},
      {K::hybrid, "hybrid"},
      {K::rpc, "rpc"}};
};
template <>
struct Names<experiment::RemoteLayers> {
  using R = experiment::RemoteLayers;
  static constexpr std::pair<R, std::string_view> table[] = {{R::embeddings, "embeddings"},
                                                             {R::all, "all"}};
};
template <>
struct Names<experiment::RemoteOutput> {
  using R = experiment::RemoteOutput;
  static constexpr std::pair<R, std::string_view> table[] = {{R::value, "value"},
                                                             {R::reference, "reference"}};
};
template <>
struct Names<experiment::Shard> {
  using S = experiment::Shard;
  static constexpr std::pair<S, std::string_view> table[] = {
      {S::full, "full"}, {S::gradients, "gradients"}, {S::optimizer, "optimizer"}};
};
template <>
struct Names<experiment::ShardGroup> {
  using G = experiment::ShardGroup;
  static constexpr std::pair<G, std::string_view> table[] = {{G::world, "world"},
                                                             {G::host, "host"}};
};
template <>
struct Names<experiment::Partition> {
  using P = experiment::Partition;
  static constexpr std::pair<P, std::string_view> table[] = {
      {P::cost, "cost"}, {P::memory, "memory"}, {P::by_hand, "by_hand"}, {P::measured, "measured"}};
};
template <>
struct Names<experiment::PipelineSchedule> {
  using P = experiment::PipelineSchedule;
  static constexpr std::pair<P, std::string_view> table[] = {
      {P::naive, "naive"},
      {P::gpipe, "gpipe"},
      {P::one_forward_one_backward, "1f1b"},
      {P::interleaved_1f1b, "interleaved_1f1b"},
      {P::zb_h1, "zb_h1"},
      {P::pipedream, "pipedream"}};
};
template <>
struct Names<experiment::AveragedQuantity> {
  using A = experiment::AveragedQuantity;
  static constexpr std::pair<A, std::string_view> table[] = {{A::gradients, "gradients"},
                                                             {A::weights, "weights"}};
};
template <>
struct Names<experiment::Engine> {
  using E = experiment::Engine;
  static constexpr std::pair<E, std::string_view> table[] = {
      {E::own, "own"}, {E::gloo, "gloo"}, {E::nccl, "nccl"}};
};
template <>
struct Names<experiment::ServerMode> {
  using M = experiment::ServerMode;
  static constexpr std::pair<M, std::string_view> table[] = {
      {M::asynchronous, "asynchronous"},
      {M::synchronous, "synchronous"},
      {M::softsync, "softsync"},
      {M::stale_synchronous, "stale_synchronous"},
      {M::backup_workers, "backup_workers"}};
};
template <>
struct Names<experiment::VariablePlacement> {
  using P = experiment::VariablePlacement;
  static constexpr std::pair<P, std::string_view> table[] = {
      {P::balanced, "balanced"}, {P::round_robin, "round_robin"}, {P::by_hand, "by_hand"}};
};
template <>
struct Names<experiment::TablePull> {
  using T = experiment::TablePull;
  static constexpr std::pair<T, std::string_view> table[] = {{T::rows, "rows"},
                                                             {T::whole, "whole"}};
};
template <>
struct Names<experiment::StalenessRate> {
  using R = experiment::StalenessRate;
  static constexpr std::pair<R, std::string_view> table[] = {{R::ignored, "ignored"},
                                                             {R::divided, "divided"}};
};
template <>
struct Names<experiment::GossipMode> {
  using M = experiment::GossipMode;
  static constexpr std::pair<M, std::string_view> table[] = {{M::synchronous, "synchronous"},
                                                             {M::asynchronous, "asynchronous"}};
};
template <>
struct Names<experiment::GossipGraph> {
  using G = experiment::GossipGraph;
  static constexpr std::pair<G, std::string_view> table[] = {{G::ring, "ring"},
                                                             {G::exponential, "exponential"},
                                                             {G::torus, "torus"},
                                                             {G::complete, "complete"},
                                                             {G::drawn, "drawn"}};
};
template <>
struct Names<experiment::LocalRule> {
  using R = experiment::LocalRule;
  static constexpr std::pair<R, std::string_view> table[] = {{R::average, "average"},
                                                             {R::elastic, "elastic"}};
};
template <>
struct Names<experiment::OptimizerKind> {
  using K = experiment::OptimizerKind;
  static constexpr std::pair<K, std::string_view> table[] = {
      {K::sgd, "sgd"}, {K::adam, "adam"}, {K::adamw, "adamw"}};
};
template <>
struct Names<experiment::ScheduleKind> {
  using K = experiment::ScheduleKind;
  static constexpr std::pair<K, std::string_view> table[] = {
      {K::constant, "constant"}, {K::step, "step"}, {K::cosine, "cosine"}};
};
template <>
struct Names<experiment::Precision> {
  using P = experiment::Precision;
  static constexpr std::pair<P, std::string_view> table[] = {
      {P::fp32, "fp32"}, {P::fp64, "fp64"}, {P::bf16, "bf16"}, {P::fp16, "fp16"}};
};
template <>
struct Names<experiment::OffloadTarget> {
  using S = experiment::OffloadTarget;
  static constexpr std::pair<S, std::string_view> table[] = {
      {S::nowhere, "nowhere"}, {S::host, "host"}, {S::disk, "disk"}};
};
template <>
struct Names<experiment::Multiplies> {
  using M = experiment::Multiplies;
  static constexpr std::pair<M, std::string_view> table[] = {
      {M::automatic, "auto"}, {M::full, "full"}, {M::bfloat16, "bfloat16"}, {M::tf32, "tf32"}};
};
template <>
struct Names<experiment::NonFinite> {
  using N = experiment::NonFinite;
  static constexpr std::pair<N, std::string_view> table[] = {
      {N::go_on, "go_on"}, {N::stop, "stop"}, {N::skip, "skip"}};
};
template <>
struct Names<experiment::TransportKind> {
  using K = experiment::TransportKind;
  static constexpr std::pair<K, std::string_view> table[] = {
      {K::automatic, "auto"}, {K::inproc, "inproc"}, {K::shm, "shm"}, {K::zmq, "zmq"}};
};
template <>
struct Names<experiment::LinkSpeed> {
  using K = experiment::LinkSpeed;
  static constexpr std::pair<K, std::string_view> table[] = {{K::drawn_only, "drawn_only"},
                                                             {K::imposed, "imposed"}};
};
template <>
struct Names<experiment::Encryption> {
  using E = experiment::Encryption;
  static constexpr std::pair<E, std::string_view> table[] = {{E::curve, "curve"},
                                                             {E::none, "none"}};
};
template <>
struct Names<experiment::RunClock> {
  using K = experiment::RunClock;
  static constexpr std::pair<K, std::string_view> table[] = {{K::machine, "machine"},
                                                             {K::virtual_time, "virtual"}};
};
template <>
struct Names<experiment::DeviceSpeed> {
  using K = experiment::DeviceSpeed;
  static constexpr std::pair<K, std::string_view> table[] = {{K::drawn_only, "drawn_only"},
                                                             {K::paced, "paced"}};
};

template <>
struct Fields<experiment::VariablePlacementEntry> {
  using V = experiment::VariablePlacementEntry;
  static constexpr std::string_view title = "Variable placement";
  static auto table() {
    return std::tuple{
        field("variable", &V::variable, "", {1, 256},
              "Variable name: layer number, a dot, and weight or bias, for example 0.weight"),
        field("server", &V::server, "", {0, 100'000},
              "Number of the parameter server that keeps the variable, from 0")};
  }
};
template <>
struct Fields<experiment::ServerSpec> {
  using S = experiment::ServerSpec;
  using M = experiment::ServerMode;
  static constexpr std::string_view title = "Parameter servers";
  static auto table() {
    return std::tuple{
        field("mode", &S::mode, "", {},
              "Rule for applying gradients; asynchronous: each gradient on arrival; synchronous: "
              "the gradients of all workers together; softsync: workers / n gradients from any "
              "workers together; stale_synchronous: each gradient on arrival, but no worker may be "
              "too far ahead of the slowest; backup_workers: the first gradients of each round "
              "together, later gradients are dropped"),
        field("softsync", &S::softsync, "", {1, 100'000},
              "Divisor n of softsync: an update takes workers / n gradients, rounded down",
              [](const S& s) { return s.mode == M::softsync; }),
        field("bound", &S::bound, "rounds", {0, 1e9},
              "Staleness bound: maximum number of rounds that a worker may be ahead of the slowest "
              "worker",
              [](const S& s) { return s.mode == M::stale_synchronous; }),
        field("backups", &S::backups, "workers", {0, 100'000},
              "Number of backup workers b: an update takes the first workers - b gradients of a "
              "round",
              [](const S& s) { return s.mode == M::backup_workers; }),
        field("placement", &S::placement, "", {},
              "Placement of variables on servers; balanced: equal bytes per server, variables may "
              "be split; round_robin: full variables in turn; by_hand: as listed in places"),
        field("places", &S::places, "", {0, 100'000},
              "Variable placement for by_hand: the server of each listed variable, from 0. Each "
              "other variable goes to the server that keeps the fewest elements",
              [](const S& s) {
                return s.placement == experiment::VariablePlacement::by_hand || !s.places.empty();
              }),
        field("staleness_rate", &S::staleness_rate, "", {},
              "Adjustment of the learning rate for stale gradients; ignored: none; divided: the "
              "learning rate of an update is divided by the mean staleness of its gradients, if "
              "that is above 1"),
        field("delay_compensation", &S::delay_compensation, "", {0, 1e6},
              "Delay compensation factor lambda (DC-ASGD): a late gradient g becomes g + lambda g "
              "g (current parameters - parameters with which g was computed), element by element; "
              "0: none",
              [](const S& s) { return s.mode != M::synchronous && s.mode != M::backup_workers; }),
        field("tables", &S::tables, "", {},
              "Transfer of embedding tables (embedding_bag, wide); rows: workers pull and push "
              "only the rows that their samples look up; whole: the full table. Both give the same "
              "result; unused without such a layer")};
  }
};

template <>
struct Fields<experiment::GossipWeight> {
  using W = experiment::GossipWeight;
  static constexpr std::string_view title = "Gossip weight";
  static auto table() {
    return std::tuple{
        field("a", &W::a, "", {0, 100'000}, "First rank of the pair"),
        field("b", &W::b, "", {0, 100'000},
              "Second rank of the pair: a neighbor of the first, or the first itself"),
        field("weight", &W::weight, "", {0, 1}, "Weight of each rank in the average of the other")};
  }
};
template <>
struct Fields<experiment::GossipSpec> {
  using G = experiment::GossipSpec;
  static constexpr std::string_view title = "Gossip";
  static auto table() {
    return std::tuple{
        field("mode", &G::mode, "", {},
              "Synchronization of ranks; synchronous: at every step each rank averages with all "
              "neighbors, which are at the same step; asynchronous: each rank runs at its own "
              "speed and averages equally with one neighbor at a time, on a bipartite graph"),
        field("graph", &G::graph, "", {},
              "Neighbor graph; ring: the previous and the next rank; exponential: ranks at "
              "distance 1, 2, 4, ...; torus: left, right, up and down in a grid; complete: all "
              "ranks; drawn: ranks on the same host, and on hosts that a drawn link joins with it"),
        field("weights", &G::weights, "", {0, 100'000},
              "Entries of the mixing matrix for pairs of neighbors (ranks a and b). Default: "
              "Metropolis weights, 1 / (1 + the larger number of neighbors); the weight of the "
              "rank itself is 1 minus the weights of its neighbors",
              [](const G& g) { return g.mode == experiment::GossipMode::synchronous; }),
        field("consensus_every_steps", &G::consensus_every_steps, "steps", {0, 1e12},
              "Steps between measurements of the consensus distance, the distance of ranks from "
              "their mean, in addition to evaluations; 0: at evaluations only")};
  }
};
template <>
struct Fields<experiment::LocalSgdSpec> {
  using L = experiment::LocalSgdSpec;
  static constexpr std::string_view title = "Local SGD";
  static auto table() {
    return std::tuple{
        field("average_every_steps", &L::average_every_steps, "steps", {1, 1e12},
              "Synchronization interval H: number of local steps between two "
              "averages of the parameters"),
        field("rule", &L::rule, "", {},
              "Synchronization rule; average: all ranks take the mean (federated averaging); "
              "elastic: the parameters of each rank move toward a center, and the center moves "
              "toward the mean of all ranks. Every rank has a copy of the center"),
        field("elasticity", &L::elasticity, "", {0, 1},
              "Elasticity alpha: fraction of the distance to the center by which the parameters of "
              "a rank move, at most 1 / ranks; 0: automatic, 0.9 / ranks",
              [](const L& l) { return l.rule == experiment::LocalRule::elastic; })};
  }
};
template <>
struct Fields<experiment::StagePlace> {
  using P = experiment::StagePlace;
  static constexpr std::string_view title = "Layer placement";
  static auto table() {
    return std::tuple{
        field("segment", &P::segment, "", {1, 32},
              "First layer of the range: its number, for example 2, or for a part of a block the "
              "layer and the part, for example 1.4"),
        field("rank", &P::rank, "", {0, 100'000},
              "Number, from 0, of the worker that has the layers from this layer up to the next "
              "entry of the list. hybrid: number of the stage, from 0; rpc: 0 for the trainers, 1 "
              "for the "
              "first parameter server")};
  }
};
template <>
struct Fields<experiment::SegmentTime> {
  using T = experiment::SegmentTime;
  static constexpr std::string_view title = "Layer time";
  static auto table() {
    return std::tuple{field("segment", &T::segment, "", {1, 32},
                            "Layer: its number, for example 2, or for a part of a block the layer "
                            "and the part, for example 1.4"),
                      field("seconds", &T::seconds, "s", {0, 1e6},
                            "Measured time per sample, forward and backward")};
  }
};
template <>
struct Fields<experiment::StageSpec> {
  using S = experiment::StageSpec;
  static constexpr std::string_view title = "Stages";
  static auto table() {
    return std::tuple{
        field("partition", &S::partition, "", {},
              "Partition of layers over devices; cost: minimizes the longest compute time per "
              "sample of any device; memory: minimizes the largest memory of any device; by_hand: "
              "as listed in places; measured: minimizes the longest time per sample of any device, "
              "with layer times that are measured once on this machine before the run"),
        field("places", &S::places, "", {0, 100'000},
              "Layer placement for by_hand: the first layer of each range, and the worker that has "
              "the range (in hybrid the stage, in rpc the server)",
              [](const S& s) {
                return s.partition == experiment::Partition::by_hand || !s.places.empty();
              }),
        field("schedule", &S::schedule, "", {},
              "Pipeline schedule of the micro-batches of a step (training.accumulation_steps); "
              "naive: one micro-batch at a time through all stages and back; gpipe: all forward "
              "passes, then all backward passes; 1f1b: backward as early as possible, so a stage "
              "holds at most as many micro-batches as there are stages from it to the last; "
              "interleaved_1f1b: 1f1b with several stages per worker; zb_h1: 1f1b with delayed "
              "weight gradients, which fill idle time; pipedream: 1f1b with an update per "
              "micro-batch, whose backward pass uses the stored weights of its forward pass (stale "
              "gradients)"),
        field("chunks", &S::chunks, "stages", {2, 64},
              "Number of stages per worker for interleaved_1f1b, assigned in turn",
              [](const S& s) {
                return s.schedule == experiment::PipelineSchedule::interleaved_1f1b;
              }),
        field("times", &S::times, "", {0, 100'000},
              "Layer times for measured. If set, nothing is measured; a recorded run contains the "
              "measured times",
              [](const S& s) {
                return s.partition == experiment::Partition::measured || !s.times.empty();
              })};
  }
};
template <>
struct Fields<experiment::FsdpSpec> {
  using F = experiment::FsdpSpec;
  static constexpr std::string_view title = "Fully sharded data parallelism";
  static constexpr bool gathers(const F& f) { return f.shard == experiment::Shard::full; }
  static auto table() {
    return std::tuple{
        field("shard", &F::shard, "", {},
              "Sharded state (ZeRO stage); full: parameters, gradients and moments (ZeRO-3); "
              "gradients: gradients and moments (ZeRO-2); optimizer: moments (ZeRO-1)"),
        field(
            "group", &F::group, "", {},
            "Sharding group; world: all devices; host: the devices of each host, which together "
            "hold a full model and all-reduce their shards with the other hosts (hybrid sharding)"),
        field("reshard_after_forward", &F::reshard_after_forward, "", {},
              "Free the gathered parameters of a unit after its forward pass, and gather them "
              "again for its backward pass. If off, the parameters stay in memory from the forward "
              "to the backward pass",
              gathers),
        field("prefetch", &F::prefetch, "units", {0, 1000},
              "Number of units whose parameters are gathered ahead of the unit that computes",
              gathers)};
  }
};
template <>
struct Fields<experiment::MeshSpec> {
  using M = experiment::MeshSpec;
  static constexpr std::string_view title = "Device mesh";
  static auto table() {
    return std::tuple{
        field("data", &M::data, "replicas", {0, 100'000},
              "Number of data-parallel replicas, which take different samples; 0: "
              "automatic, as many as the devices allow"),
        field("pipeline", &M::pipeline, "stages", {1, 100'000},
              "Number of pipeline stages of each replica"),
        field("tensor", &M::tensor, "devices", {1, 100'000},
              "Number of tensor-parallel devices that share the layers of a stage; "
              "they are adjacent ranks on one host"),
        field("shards_data", &M::shards_data, "", {},
              "Shard state over replicas: each replica keeps and updates only its shard of the "
              "state that strategy.fsdp.shard names, and gathers the rest when needed")};
  }
};
template <>
struct Fields<experiment::RpcSpec> {
  using R = experiment::RpcSpec;
  static constexpr std::string_view title = "Remote layers";
  static auto table() {
    return std::tuple{
        field("remote", &R::remote, "", {},
              "Layers that parameter servers keep; embeddings: only tables, all other layers are "
              "on the trainers; all: every layer with parameters, so that trainers only call "
              "layers and compute the loss. strategy.stages assigns layers to servers"),
        field("output", &R::output, "", {},
              "Destination of an output that a layer on another server takes as input; value: the "
              "output returns to the trainer, which sends it to the other server; reference: the "
              "output goes directly from server to server")};
  }
};
template <>
struct Fields<experiment::StrategySpec> {
  using S = experiment::StrategySpec;
  static constexpr std::string_view title = "Strategy";
  static constexpr bool has_stages(const S& s) { return experiment::has_stages(s.kind); }
  static constexpr bool is_mesh(const S& s) { return s.kind == experiment::StrategyKind::hybrid; }
  static constexpr bool is_rpc(const S& s) { return s.kind == experiment::StrategyKind::rpc; }
  static constexpr bool reduces(const S& s) {
    return s.kind != experiment::StrategyKind::one_device &&
           (!has_stages(s) || is_mesh(s) || is_rpc(s));
  }
  static constexpr bool reduces_gradients(const S& s) {
    return reduces(s) && (!experiment::splits_model(s.kind) || is_mesh(s) || is_rpc(s));
  }
  static constexpr bool overlaps(const S& s) {
    return s.kind == experiment::StrategyKind::pipeline || (is_mesh(s) && s.mesh.pipeline > 1);
  }
  // Hides the field `schedule` if stages do not overlap and the field has its default value. Also
  // hides the options of `fsdp` in a mesh whose replicas are not sharded.
  static constexpr bool hides(const S& s, std::string_view part, std::string_view name) {
    if (part == "fsdp") return is_mesh(s) && !s.mesh.shards_data;
    return part == "stages" && name == "schedule" && !overlaps(s) &&
           s.stages.schedule == experiment::StageSpec{}.schedule;
  }
  static constexpr bool compresses(const S& s) {
    return reduces(s) && !experiment::splits_model(s.kind);
  }
  static constexpr bool may_ask_an_engine(const S& s) { return reduces(s) || has_stages(s); }
  static constexpr bool reduces_itself(const S& s) {
    return reduces(s) && s.engine == experiment::Engine::own;
  }
  static constexpr bool chooses(const S& s) {
    return reduces_itself(s) && !experiment::fixed_algorithm(s.kind);
  }
  static auto table() {
    return std::tuple{
        field("kind", &S::kind, "", {},
              "Distribution strategy; one_device: no communication; mirrored: a replica per "
              "device, gradients are all-reduced; multi_worker_mirrored: mirrored over several "
              "hosts; ddp: mirrored, after rank 0 broadcasts its parameters; central_storage: a "
              "cpu of the host keeps the variables, its other devices compute; data_parallel: the "
              "first device sends parameters and samples to the others at every step; "
              "parameter_server: servers keep the variables, workers pull, compute and push; "
              "gossip: local parameters, averaged with neighbors; local_sgd: local steps, with "
              "parameters averaged at intervals; tpu: mirrored on a torus of TPUs, EMULATED on CPU "
              "cores, whose speed says nothing about a TPU; model_parallel: each device has some "
              "layers; pipeline: model_parallel with several micro-batches in flight; fsdp: ddp "
              "with parameters, gradients and moments sharded; tensor_parallel: each device has "
              "some rows or columns of each layer; hybrid: a mesh of data, pipeline and tensor "
              "parallelism; rpc: parameter servers keep layers that trainers call"),
        field("engine", &S::engine, "", {},
              "Collectives library; own: Trainyard's collectives; gloo: the library that PyTorch "
              "uses on CPUs, over TCP; nccl: NVIDIA's library for GPUs. gloo and nccl do not "
              "report chunks and bytes",
              may_ask_an_engine),
        field("algorithm", &S::algorithm, "", {},
              "All-reduce algorithm for gradients; auto: the algorithm with the lowest cost by the "
              "drawn speeds",
              chooses),
        field("bucket_bytes", &S::bucket_bytes, "B", {1, 1e12},
              "Approximate size of a gradient bucket. Each bucket is one all-reduce, last layers "
              "first. fsdp: size of a unit, which is gathered and freed as a whole",
              reduces_gradients),
        field("segment_bytes", &S::segment_bytes, "B", {0, 1e12},
              "Segment size: larger buckets are reduced in up to 256 segments, so that transfer "
              "and addition overlap; 0: automatic, 2 MiB between ranks that share memory, "
              "otherwise no segments",
              reduces_itself),
        field("average", &S::average, "", {},
              "Averaged quantity; gradients: all ranks make the same update; weights: each rank "
              "updates with its local gradient, clipped by its local norm, then the weights of all "
              "ranks are averaged in proportion to their samples. Both give the same result for "
              "SGD without clipping and without momentum, and also with momentum if all ranks take "
              "the same number of samples. Otherwise results differ, because moments stay local",
              [](const S& s) { return s.kind == experiment::StrategyKind::mirrored; }),
        field("compression", &S::compression, "", {}, "Gradient compression", compresses),
        field("servers", &S::servers, "", {}, "Settings of parameter servers",
              [](const S& s) { return s.kind == experiment::StrategyKind::parameter_server; }),
        field("gossip", &S::gossip, "", {},
              "Settings of gossip: synchronization, neighbor graph and weights",
              [](const S& s) { return s.kind == experiment::StrategyKind::gossip; }),
        field("local_sgd", &S::local_sgd, "", {},
              "Settings of local SGD: interval and rule of synchronization",
              [](const S& s) { return s.kind == experiment::StrategyKind::local_sgd; }),
        field("stages", &S::stages, "", {},
              "Partition of layers over devices, and the pipeline schedule", has_stages),
        field("fsdp", &S::fsdp, "", {}, "Sharding of parameters, gradients and moments",
              [](const S& s) { return s.kind == experiment::StrategyKind::fsdp || is_mesh(s); }),
        field("mesh", &S::mesh, "", {}, "Mesh shape: data x pipeline x tensor", is_mesh),
        field("rpc", &S::rpc, "", {}, "Remote layers, and how trainers call them", is_rpc)};
  }
};
template <>
struct Fields<experiment::OptimizerSpec> {
  using O = experiment::OptimizerSpec;
  static constexpr std::string_view title = "Optimizer";
  static constexpr bool sgd(const O& o) { return o.kind == experiment::OptimizerKind::sgd; }
  static constexpr bool adam(const O& o) { return !sgd(o); }
  static auto table() {
    return std::tuple{
        field("kind", &O::kind, "", {},
              "Optimizer; sgd: SGD with momentum; adam: Adam; adamw: Adam with decoupled weight "
              "decay"),
        field("learning_rate", &O::learning_rate, "", {0, 1e6},
              "Learning rate, before the schedule is applied"),
        field("momentum", &O::momentum, "", {0, 0.9999999}, "Momentum factor of SGD; 0: none", sgd),
        field("weight_decay", &O::weight_decay, "", {0, 1e6}, "Weight decay coefficient; 0: none"),
        field("beta1", &O::beta1, "", {0, 0.9999999}, "Decay rate of the first moment", adam),
        field("beta2", &O::beta2, "", {0, 0.9999999}, "Decay rate of the second moment", adam),
        field("epsilon", &O::epsilon, "", {1e-30, 1},
              "Term added to the square root of the second moment, for numerical stability", adam)};
  }
};
template <>
struct Fields<experiment::ScheduleSpec> {
  using S = experiment::ScheduleSpec;
  using K = experiment::ScheduleKind;
  static constexpr std::string_view title = "Learning-rate schedule";
  static auto table() {
    return std::tuple{
        field("kind", &S::kind, "", {},
              "Learning-rate schedule; constant: no change; step: multiplied by factor after every "
              "every_steps; cosine: cosine annealing to final_fraction at the last step"),
        field("warmup_steps", &S::warmup_steps, "steps", {0, 1e12},
              "Number of warm-up steps, over which the learning rate rises linearly from near "
              "zero; 0: none"),
        field("every_steps", &S::every_steps, "steps", {1, 1e12},
              "Steps between reductions of the learning rate",
              [](const S& s) { return s.kind == K::step; }),
        field("factor", &S::factor, "", {0, 1},
              "Factor by which each reduction multiplies the learning rate",
              [](const S& s) { return s.kind == K::step; }),
        field("final_fraction", &S::final_fraction, "", {0, 1},
              "Fraction of the learning rate that remains at the last step",
              [](const S& s) { return s.kind == K::cosine; })};
  }
};
template <>
struct Fields<experiment::LossScaleSpec> {
  using L = experiment::LossScaleSpec;
  static constexpr std::string_view title = "Loss scale";
  static auto table() {
    return std::tuple{
        field("initial", &L::initial, "", {1, 1e12},
              "Initial loss scale. The loss is multiplied by the scale, and its gradients are "
              "divided by it"),
        field("double_every_steps", &L::double_every_steps, "steps", {1, 1e12},
              "Number of consecutive steps with finite gradients after which the scale doubles. A "
              "step with an infinite or NaN gradient halves the scale and changes no weight"),
        field("least", &L::least, "", {1e-12, 1e12},
              "Minimum loss scale. The run ends if the scale would fall below it")};
  }
};
template <>
struct Fields<experiment::OffloadSpec> {
  using S = experiment::OffloadSpec;
  static constexpr std::string_view title = "Memory offload";
  static auto table() {
    return std::tuple{
        field("activations", &S::activations, "", {},
              "Offload target of activations that the backward pass needs, until it fetches them; "
              "nowhere: kept on the device; host: host memory; disk: a file"),
        field("optimizer", &S::optimizer, "", {},
              "Offload target of optimizer moments between updates; nowhere: kept on the device; "
              "host: host memory; disk: a file"),
        field("directory", &S::directory, "", {0, 4096},
              "Directory of temporary files of values offloaded to disk; empty: the run directory",
              [](const S& s) {
                return s.activations == experiment::OffloadTarget::disk ||
                       s.optimizer == experiment::OffloadTarget::disk;
              })};
  }
};
template <>
struct Fields<experiment::TrainingSpec> {
  using T = experiment::TrainingSpec;
  static constexpr std::string_view title = "Training";
  static auto table() {
    return std::tuple{
        field("batch_per_rank", &T::batch_per_rank, "samples", {1, 1 << 20},
              "Number of samples per rank and micro-step. The global batch is this value, times "
              "the accumulation steps, times the number of ranks that take different samples"),
        field("accumulation_steps", &T::accumulation_steps, "micro-steps", {1, 4096},
              "Number of micro-steps per update. Their gradients are accumulated, which needs the "
              "memory of a small batch and one all-reduce per update"),
        field("recompute_segments", &T::recompute_segments, "segments", {0, 100'000},
              "Activation checkpointing: number of consecutive segments in a group. Only the input "
              "of a group is kept; the outputs within it are recomputed in the backward pass. "
              "Saves memory, costs "
              "time, same result; 0: everything is kept"),
        field("epochs", &T::epochs, "epochs", {1, 1e6},
              "Number of passes over the training samples",
              [](const T& t) { return t.steps == 0; }),
        field("steps", &T::steps, "steps", {0, 1e12},
              "Number of steps. If set, it overrides training.epochs; 0: training.epochs "
              "determines the number of steps"),
        field("precision", &T::precision, "", {},
              "Number format; fp32, fp64: all numbers; bf16, fp16: mixed precision, with "
              "activations and inputs of matrix multiplications in this format; parameters, "
              "gradients and moments in fp32"),
        field("multiplies", &T::multiplies, "", {},
              "Precision of the inputs of matrix multiplications; full: unchanged; bfloat16: "
              "rounded to 8 significant bits and summed in fp32, as on a TPU; tf32: 11 bits, on "
              "tensor cores of GPUs only; auto: bfloat16 for strategy tpu, otherwise full"),
        field("seed", &T::seed, "", {0, 9e15},
              "Random seed of the initial weights and of the sample order"),
        field("optimizer", &T::optimizer, "", {}, "Optimizer and its hyperparameters"),
        field("schedule", &T::schedule, "", {}, "Learning-rate schedule"),
        field("clip_norm", &T::clip_norm, "", {0, 1e12},
              "Maximum norm of the full gradient. A gradient with a larger norm is scaled down to "
              "this norm; 0: gradients are never clipped"),
        field("non_finite", &T::non_finite, "", {},
              "Handling of gradients with an infinite or NaN element; go_on: use them; stop: end "
              "the run; skip: skip the update"),
        field("loss_scale", &T::loss_scale, "", {},
              "Loss scaling for fp16, which prevents underflow of small gradients",
              [](const T& t) { return t.precision == experiment::Precision::fp16; }),
        field("swap", &T::swap, "", {},
              "Offload of activations and optimizer moments that the device does not need for a "
              "while")};
  }
};
template <>
struct Fields<experiment::RunSpec> {
  using R = experiment::RunSpec;
  static constexpr std::string_view title = "Run";
  static constexpr bool imposes_links(const R& r) {
    return r.links == experiment::LinkSpeed::imposed;
  }
  static auto table() {
    return std::tuple{
        field("clock", &R::clock, "", {},
              "Clock of the run; machine: real time, each rank is a process; virtual: all ranks in "
              "one process, with the order of events determined by the drawn speeds and the seed"),
        field("transport", &R::transport, "", {},
              "Transport between ranks; auto: shm within a host, zmq between hosts; inproc: ranks "
              "are threads of one process; shm: shared memory; zmq: sockets"),
        field("links", &R::links, "", {},
              "Speed of links and buses in a real run; drawn_only: the speed of this machine; "
              "imposed: limited to the drawn bandwidth and delayed by the drawn latency"),
        field("link_scale", &R::link_scale, "", {1e-6, 1e6},
              "Speed of imposed links relative to the drawn speed: multiplies bandwidth and "
              "divides latency. 0.1 is ten times slower",
              imposes_links),
        field("devices", &R::devices, "", {},
              "Speed of devices; drawn_only: the speed of this machine; paced: compute, and copies "
              "between host and device, take at least the time that the simulator predicts for the "
              "drawn device and its bus"),
        field("evaluate_every_steps", &R::evaluate_every_steps, "steps", {0, 1e12},
              "Steps between evaluations on held-out samples; 0: once per epoch. An evaluator "
              "evaluates every checkpoint instead"),
        field("seconds_per_step", &R::seconds_per_step, "s", {0, 3600},
              "Pace: minimum duration of a step; 0: full speed"),
        field("emulate", &R::emulate, "", {},
              "Emulation: devices of kind tpu, and devices of kind gpu that are not mapped to a "
              "GPU of this machine, run on the CPU. Results are labeled EMULATED"),
        field("record_ops", &R::record_ops, "", {}, "Record the start and end of every op"),
        field("recording_limit_bytes", &R::recording_limit_bytes, "B", {0, 1e15},
              "Size limit of the recording. A longer run is recorded completely at its start and "
              "at its end; in between, ops and times are thinned. Loss, gradient norms, samples "
              "and totals are recorded at every step. 0: no limit"),
        field("hang_seconds", &R::hang_seconds, "s", {0.5, 86400},
              "Timeout after which a run without progress is reported as hung"),
        field("checkpoint_every_steps", &R::checkpoint_every_steps, "steps", {0, 1e12},
              "Steps between checkpoints during training (parameter_server, machine clock); 0: at "
              "the end only, or with an evaluator at every evaluation"),
        field("resume_from", &R::resume_from, "", {},
              "Run directory whose newest complete checkpoint this run resumes from "
              "(parameter_server, machine clock); empty: start from the beginning"),
        field("sampled_characters", &R::sampled_characters, "characters", {0, 10'000},
              "Length of the text that a language model generates at every evaluation (text data, "
              "machine clock), with the parameters of the chief, or, if devices hold shards, with "
              "the parameters of a checkpoint; 0: none"),
        field("temperature", &R::temperature, "", {0, 10},
              "Softmax temperature for sampled text: logits are divided by it. 1 samples from the "
              "model's distribution, values near 0 pick the most likely character"),
        field("restarts", &R::restarts, "", {0, 10000},
              "Maximum number of automatic restarts of failed workers in a run whose other workers "
              "continue (parameter_server, any mode except synchronous)")};
  }
};
template <>
struct Fields<experiment::NetworkSpec> {
  using N = experiment::NetworkSpec;
  static constexpr std::string_view title = "Network";
  static auto table() {
    return std::tuple{
        field("encryption", &N::encryption, "", {},
              "Encryption of messages between machines; curve: encrypted and authenticated; none: "
              "readable by others, only in trusted networks"),
        field("trusted", &N::trusted, "", {0, 100},
              "Trusted networks, in CIDR notation such as 10.0.0.0/8. Only there may messages be "
              "unencrypted"),
        field("interface", &N::interface, "", {0, 64},
              "Interface (eth1) or network (10.0.0.0/8) whose addresses ranks use; empty: the "
              "address by which the coordinator reaches the machine")};
  }
};
template <>
struct Fields<experiment::Experiment> {
  using E = experiment::Experiment;
  static constexpr std::string_view title = "Trainyard experiment";
  static auto table() {
    return std::tuple{
        field("version", &E::version, "", {1, experiment::kVersion}, "Version of the file format"),
        field("name", &E::name, "", {0, 200}, "Name of the experiment"),
        field("notes", &E::notes, "", {0, 100000}, "Free text"),
        field("topology", &E::topology, "", {}, "Hosts, devices, switches and links"),
        field("model", &E::model, "", {}, "Model: a list of layers"),
        field("data", &E::data, "", {}, "Data set and its sharding"),
        field("strategy", &E::strategy, "", {}, "Distribution strategy"),
        field("training", &E::training, "", {}, "Batch, precision, optimizer and schedule"),
        field("run", &E::run, "", {},
              "Execution of the run: clock, transport, speeds, evaluation and checkpoints"),
        field("network", &E::network, "", {}, "Connections between the machines of a run")};
  }
};

}  // namespace trainyard::base

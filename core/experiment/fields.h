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
  static constexpr std::string_view title = "Place of a variable";
  static auto table() {
    return std::tuple{field("variable", &V::variable, "", {1, 256},
                            "Its name, as 0.weight: the layer's number, and weight or bias"),
                      field("server", &V::server, "", {0, 100'000},
                            "Number of the server that keeps it, from 0")};
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
              "When a gradient is applied; asynchronous: as it comes; synchronous: with those of "
              "all workers; softsync: with others, whose soever; "
              "stale_synchronous: as it comes, but nobody gets too far ahead; backup_workers: the "
              "first of a round, the rest are dropped"),
        field("softsync", &S::softsync, "", {1, 100'000},
              "n: an update takes as many gradients as workers / n",
              [](const S& s) { return s.mode == M::softsync; }),
        field("bound", &S::bound, "rounds", {0, 1e9},
              "How many rounds a worker may be ahead of the slowest",
              [](const S& s) { return s.mode == M::stale_synchronous; }),
        field("backups", &S::backups, "workers", {0, 100'000},
              "b: an update takes the gradients of the first workers but so many",
              [](const S& s) { return s.mode == M::backup_workers; }),
        field("placement", &S::placement, "", {},
              "Which server keeps what; balanced: equally much, variables may be cut; round_robin: "
              "whole variables in turn; by_hand: as places says"),
        field("places", &S::places, "", {0, 100'000},
              "Of by_hand: variables and the servers that keep them, from 0; each of the others "
              "goes to the server that has least",
              [](const S& s) {
                return s.placement == experiment::VariablePlacement::by_hand || !s.places.empty();
              }),
        field("staleness_rate", &S::staleness_rate, "", {},
              "divided: the learning rate of an update / the mean staleness of its gradients, "
              "where that is more than 1"),
        field("delay_compensation", &S::delay_compensation, "", {0, 1e6},
              "lambda: to a gradient g that comes late, lambda g g (parameters now - parameters "
              "that it was computed by) is added, number by number; 0: nothing",
              [](const S& s) { return s.mode != M::synchronous && s.mode != M::backup_workers; }),
        field("tables", &S::tables, "", {},
              "Of tables that samples look rows up in (embedding_bag, wide); rows: workers pull "
              "and push those that their samples name; whole: all rows, "
              "as of other variables. Both train to the same numbers; without such a layer it "
              "changes nothing")};
  }
};

template <>
struct Fields<experiment::GossipWeight> {
  using W = experiment::GossipWeight;
  static constexpr std::string_view title = "Gossip weight";
  static auto table() {
    return std::tuple{
        field("a", &W::a, "", {0, 100'000}, "A rank"),
        field("b", &W::b, "", {0, 100'000}, "A neighbour of it, or itself"),
        field("weight", &W::weight, "", {0, 1}, "What each counts in the other's average")};
  }
};
template <>
struct Fields<experiment::GossipSpec> {
  using G = experiment::GossipSpec;
  static constexpr std::string_view title = "Gossip";
  static auto table() {
    return std::tuple{
        field("mode", &G::mode, "", {},
              "synchronous: at every step each rank averages with all its neighbours, who are at "
              "the same step; asynchronous: each goes on its own clock, and "
              "averages with one neighbour at a time, half and half, which asks for a graph in two "
              "halves"),
        field("graph", &G::graph, "", {},
              "Who averages with whom; ring: the ranks before and after; exponential: those 1, 2, "
              "4, ... ranks away; torus: those beside, above and below in "
              "a grid; complete: everybody; drawn: those on the same host, and on hosts that a "
              "drawn link joins with it"),
        field("weights", &G::weights, "", {0, 100'000},
              "Weights of pairs of neighbours (a, b: ranks) by hand; other pairs have those of "
              "Metropolis, 1 / (1 + the larger of their numbers of "
              "neighbours), and a rank itself what is left of 1",
              [](const G& g) { return g.mode == experiment::GossipMode::synchronous; }),
        field("consensus_every_steps", &G::consensus_every_steps, "steps", {0, 1e12},
              "Measure how far ranks are from their mean every so many steps, besides at every "
              "evaluation; 0: at evaluations only")};
  }
};
template <>
struct Fields<experiment::LocalSgdSpec> {
  using L = experiment::LocalSgdSpec;
  static constexpr std::string_view title = "Local SGD";
  static auto table() {
    return std::tuple{
        field("average_every_steps", &L::average_every_steps, "steps", {1, 1e12},
              "H: ranks take so many steps of their own before they average parameters"),
        field("rule", &L::rule, "", {},
              "average: all take the mean (federated averaging); elastic: each moves towards a "
              "centre that all have a copy of, and that towards their mean"),
        field("elasticity", &L::elasticity, "", {0, 1},
              "alpha: by how much of its distance from the centre a rank moves, at most 1 / ranks; "
              "0: 0.9 / ranks",
              [](const L& l) { return l.rule == experiment::LocalRule::elastic; })};
  }
};
template <>
struct Fields<experiment::StagePlace> {
  using P = experiment::StagePlace;
  static constexpr std::string_view title = "Place of layers";
  static auto table() {
    return std::tuple{
        field("segment", &P::segment, "", {1, 32},
              "From which layer on: its number, as 2, or of a block with that of its part, as 1.4"),
        field("rank", &P::rank, "", {0, 100'000},
              "Number of the worker, in hybrid of the stage, that has it, and all that follow up "
              "to the next place, from 0; in rpc 0 is the "
              "trainers, 1 the first parameter server")};
  }
};
template <>
struct Fields<experiment::SegmentTime> {
  using T = experiment::SegmentTime;
  static constexpr std::string_view title = "Time of a layer";
  static auto table() {
    return std::tuple{
        field("segment", &T::segment, "", {1, 32},
              "Which layer: its number, as 2, or of a block with that of its part, as 1.4"),
        field("seconds", &T::seconds, "s", {0, 1e6},
              "What it took for a sample, forward and backward")};
  }
};
template <>
struct Fields<experiment::StageSpec> {
  using S = experiment::StageSpec;
  static constexpr std::string_view title = "Stages";
  static auto table() {
    return std::tuple{
        field("partition", &S::partition, "", {},
              "Which device has which layers; cost: the device that takes longest for a sample is "
              "as fast as it can be; memory: the one that holds most "
              "holds as little as it can; by_hand: as places says; measured: as cost, by what "
              "layers take on this machine, which is measured once before the "
              "run"),
        field("places", &S::places, "", {0, 100'000},
              "Of by_hand: from which layer on which worker has them, in hybrid which stage, in "
              "rpc which server",
              [](const S& s) {
                return s.partition == experiment::Partition::by_hand || !s.places.empty();
              }),
        field("schedule", &S::schedule, "", {},
              "Of pipeline, in which order a stage takes the micro-batches of a step "
              "(training.accumulation_steps); naive: one after the other, through all "
              "stages and back; gpipe: all forward, then all backward; 1f1b: backward as soon as "
              "may be, so that a stage holds at most as many as stages "
              "follow it, and itself; interleaved_1f1b: the same with several stages on each "
              "worker; zb_h1: as 1f1b, but gradients of weights come later, and "
              "fill what was idle; pipedream: in the order of 1f1b, but every micro-batch is an "
              "update of its own as soon as it is back: weights change between "
              "its passes, so that those of its forward pass are kept for it (stale gradients)"),
        field("chunks", &S::chunks, "stages", {2, 64},
              "Of interleaved_1f1b: how many stages each worker has, in turn",
              [](const S& s) {
                return s.schedule == experiment::PipelineSchedule::interleaved_1f1b;
              }),
        field("times", &S::times, "", {0, 100'000},
              "Of measured: what each layer took, once that is known; given, nothing is measured",
              [](const S& s) {
                return s.partition == experiment::Partition::measured || !s.times.empty();
              })};
  }
};
template <>
struct Fields<experiment::FsdpSpec> {
  using F = experiment::FsdpSpec;
  static constexpr std::string_view title = "Sharded data parallelism";
  static constexpr bool gathers(const F& f) { return f.shard == experiment::Shard::full; }
  static auto table() {
    return std::tuple{
        field("shard", &F::shard, "", {},
              "Of what a device keeps but its part; full: parameters, gradients and moments "
              "(ZeRO-3); gradients: gradients and moments (ZeRO-2); optimizer: "
              "moments (ZeRO-1)"),
        field("group", &F::group, "", {},
              "Among whom a model is shared out; world: all devices; host: those of each host, "
              "which then has all of it, and sums with the other hosts what "
              "each of its devices has (hybrid shard)"),
        field("reshard_after_forward", &F::reshard_after_forward, "", {},
              "Give up a unit's parameters after its forward pass, and gather them again for its "
              "backward pass; else they stay until then, in memory",
              gathers),
        field("prefetch", &F::prefetch, "units", {0, 1000},
              "How many units of parameters are gathered ahead of the one that computes", gathers)};
  }
};
template <>
struct Fields<experiment::MeshSpec> {
  using M = experiment::MeshSpec;
  static constexpr std::string_view title = "Mesh of devices";
  static auto table() {
    return std::tuple{
        field("data", &M::data, "replicas", {0, 100'000},
              "How many replicas take different samples; 0: as many as there are devices for"),
        field("pipeline", &M::pipeline, "stages", {1, 100'000},
              "How many stages each replica has, one after the other"),
        field("tensor", &M::tensor, "devices", {1, 100'000},
              "How many devices share the layers of a stage; they are neighbours on one host"),
        field("shards_data", &M::shards_data, "", {},
              "Each replica keeps but its part of what all have alike, as fsdp.shard says, updates "
              "that, and is given the others' parts")};
  }
};
template <>
struct Fields<experiment::RpcSpec> {
  using R = experiment::RpcSpec;
  static constexpr std::string_view title = "Remote layers";
  static auto table() {
    return std::tuple{field("remote", &R::remote, "", {},
                            "Which layers the parameter servers keep; embeddings: tables, whatever "
                            "follows is the trainers'; all: every layer that has "
                            "parameters, so that trainers but call and know the loss; stages says "
                            "which server has which"),
                      field("output", &R::output, "", {},
                            "Where an output goes that a layer of another server computes by; "
                            "value: back to the trainer, which sends it on; reference: "
                            "straight from server to server")};
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
  // Hides the schedule if stages do not overlap and it has its default value.
  static constexpr bool hides(const S& s, std::string_view part, std::string_view name) {
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
              "How the work is spread over the devices; central_storage: one cpu of the host keeps "
              "the variables, its other devices compute; "
              "data_parallel: the first device keeps them, and hands out samples and parameters at "
              "every step; "
              "parameter_server: devices with that role keep the variables, workers pull, compute "
              "and push; "
              "gossip: every device keeps parameters of its own, and averages them with its "
              "neighbours', step by step or each on its own clock; "
              "local_sgd: every device takes steps of its own, and only every so many steps all "
              "average their parameters; "
              "tpu: as mirrored, on TPUs in a torus, EMULATED on CPU cores, whose speed says "
              "nothing about a TPU; "
              "model_parallel: every device has some layers, and samples pass from one to the next "
              "(vertical); "
              "pipeline: the same, with several micro-batches under way at once; "
              "fsdp: samples apart as in ddp, but of parameters, gradients and moments every "
              "device keeps one n-th; "
              "tensor_parallel: every device has some rows or columns of each layer, and all take "
              "the same samples (horizontal); "
              "hybrid: a mesh of replicas, of stages of each, and of devices that share the layers "
              "of a stage; "
              "rpc: devices with the role of a parameter server keep layers, which trainers call, "
              "each for samples of its own"),
        field("engine", &S::engine, "", {},
              "Whose collectives; gloo: those of the library that PyTorch uses on CPUs, over TCP; "
              "nccl: those of NVIDIA's for GPUs. Neither reports chunks and "
              "bytes",
              may_ask_an_engine),
        field("algorithm", &S::algorithm, "", {},
              "How gradients are all-reduced; auto: by what costs least on this drawing", chooses),
        field("bucket_bytes", &S::bucket_bytes, "B", {1, 1e12},
              "Gradients are reduced in buckets of about this size, last layers first; in fsdp "
              "units of this size are gathered and freed",
              reduces_gradients),
        field("segment_bytes", &S::segment_bytes, "B", {0, 1e12},
              "A larger bucket is reduced in segments of this size, 256 at most, so that one is "
              "added up while the next crosses; "
              "0: automatic, which is 2 MiB between ranks that share memory, so that sums are "
              "copied from caches, else never",
              reduces_itself),
        field("average", &S::average, "", {},
              "weights: every rank updates by its own gradient, clipped by its own norm, then "
              "weights are averaged by samples. For SGD without clipping that is "
              "the average of gradients, with momentum while ranks take equally many samples; else "
              "it differs, as moments stay each rank's own",
              [](const S& s) {
                return s.kind == experiment::StrategyKind::mirrored ||
                       s.average != experiment::AveragedQuantity::gradients;
              }),
        field("compression", &S::compression, "", {}, "What of the gradients travels", compresses),
        field("servers", &S::servers, "", {}, "How parameter servers go about it",
              [](const S& s) { return s.kind == experiment::StrategyKind::parameter_server; }),
        field("gossip", &S::gossip, "", {}, "Who averages with whom",
              [](const S& s) { return s.kind == experiment::StrategyKind::gossip; }),
        field("local_sgd", &S::local_sgd, "", {},
              "How often ranks average their parameters, and how",
              [](const S& s) { return s.kind == experiment::StrategyKind::local_sgd; }),
        field("stages", &S::stages, "", {}, "Which device has which layers", has_stages),
        field("fsdp", &S::fsdp, "", {}, "Of what every device keeps but its part",
              [](const S& s) {
                return s.kind == experiment::StrategyKind::fsdp ||
                       (is_mesh(s) && s.mesh.shards_data);
              }),
        field("mesh", &S::mesh, "", {}, "How many devices for what", is_mesh),
        field("rpc", &S::rpc, "", {}, "Which layers are remote, and how trainers call them",
              is_rpc)};
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
        field("kind", &O::kind, "", {}, "The rule that turns gradients into updates"),
        field("learning_rate", &O::learning_rate, "", {0, 1e6}, "Step size, before the schedule"),
        field("momentum", &O::momentum, "", {0, 0.9999999}, "Momentum of SGD", sgd),
        field("weight_decay", &O::weight_decay, "", {0, 1e6}, "Pull of the weights towards zero"),
        field("beta1", &O::beta1, "", {0, 0.9999999}, "Decay of the first moment", adam),
        field("beta2", &O::beta2, "", {0, 0.9999999}, "Decay of the second moment", adam),
        field("epsilon", &O::epsilon, "", {1e-30, 1}, "Added to the root of the second moment",
              adam)};
  }
};
template <>
struct Fields<experiment::ScheduleSpec> {
  using S = experiment::ScheduleSpec;
  using K = experiment::ScheduleKind;
  static constexpr std::string_view title = "Schedule";
  static auto table() {
    return std::tuple{
        field("kind", &S::kind, "", {}, "How the learning rate changes"),
        field("warmup_steps", &S::warmup_steps, "steps", {0, 1e12},
              "Steps over which the learning rate rises from near zero"),
        field("every_steps", &S::every_steps, "steps", {1, 1e12}, "Steps between reductions",
              [](const S& s) { return s.kind == K::step; }),
        field("factor", &S::factor, "", {0, 1}, "Factor of each reduction",
              [](const S& s) { return s.kind == K::step; }),
        field("final_fraction", &S::final_fraction, "", {0, 1},
              "Fraction of the learning rate that is left at the end",
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
              "By what the loss is multiplied at first, and its gradients divided again"),
        field("double_every_steps", &L::double_every_steps, "steps", {1, 1e12},
              "Steps in a row without an infinite gradient, or NaN, after which it is doubled; at "
              "one with it, it is halved, and no weight changes"),
        field("least", &L::least, "", {1e-12, 1e12}, "Where it would become less, the run ends")};
  }
};
template <>
struct Fields<experiment::OffloadSpec> {
  using S = experiment::OffloadSpec;
  static constexpr std::string_view title = "Memory swap";
  static auto table() {
    return std::tuple{
        field("activations", &S::activations, "", {},
              "Where outputs are, that the backward pass asks for, until it does; host: in the "
              "host's memory; disk: in a file"),
        field("optimizer", &S::optimizer, "", {}, "Where moments are between updates"),
        field("directory", &S::directory, "", {0, 4096},
              "Where files of disk are made, and removed again; empty: in the run's own directory",
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
              "Samples a rank takes a micro-step; the global batch is this times the accumulation "
              "steps and the ranks that take samples of their own"),
        field("accumulation_steps", &T::accumulation_steps, "micro-steps", {1, 4096},
              "Micro-steps before each update: their gradients are added up, which takes the "
              "memory of a small batch and one all-reduce"),
        field("recompute_segments", &T::recompute_segments, "segments", {0, 100'000},
              "Of so many segments in a row only what comes in is kept, and all between is "
              "computed again in the backward pass: less memory for "
              "more time, the same numbers; 0: everything is kept"),
        field("epochs", &T::epochs, "epochs", {1, 1e6}, "Passes over the training samples"),
        field("steps", &T::steps, "steps", {0, 1e12},
              "If above 0: stop after this many steps, whatever the epochs"),
        field("precision", &T::precision, "", {},
              "Number format; bf16, fp16: mixed, of activations and of factors of products, while "
              "parameters, their gradients and moments are fp32"),
        field("multiplies", &T::multiplies, "", {},
              "What products take of their factors; bfloat16: rounded to 8 significant bits and "
              "summed in fp32, as in a TPU; tf32: 11 bits, on GPUs alone, "
              "whose tensor cores multiply that faster; auto: bfloat16 for the strategy tpu, else "
              "full"),
        field("seed", &T::seed, "", {0, 9e15},
              "Seed of the initial weights and of the sample order"),
        field("optimizer", &T::optimizer, "", {}, "The optimizer"),
        field("schedule", &T::schedule, "", {}, "The learning-rate schedule"),
        field("clip_norm", &T::clip_norm, "", {0, 1e12},
              "Scale the whole gradient down to this norm when it is longer; 0: never"),
        field("non_finite", &T::non_finite, "", {},
              "When a gradient holds NaN or an infinite number: go on, stop the run, or skip the "
              "update"),
        field("loss_scale", &T::loss_scale, "", {},
              "By what the loss is multiplied, so that small gradients are not lost",
              [](const T& t) { return t.precision == experiment::Precision::fp16; }),
        field("swap", &T::swap, "", {}, "Where what a device needs again only later is meanwhile")};
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
              "machine: each rank is a process, as fast as it is; virtual: all ranks in one "
              "process, who comes when is by the drawn speeds and the seed"),
        field("transport", &R::transport, "", {},
              "How bytes travel between ranks; auto: shared memory within a host, sockets between "
              "hosts. inproc: ranks are threads of one process"),
        field("links", &R::links, "", {},
              "Whether the drawn bandwidth and latency of links and busses hold in a real run, or "
              "are only drawn"),
        field("link_scale", &R::link_scale, "", {1e-6, 1e6},
              "Speed of imposed links relative to the drawn one; 0.1: ten times slower",
              imposes_links),
        field("devices", &R::devices, "", {},
              "paced: compute, and copies to the host and back, take at least the time that the "
              "simulator says of the drawn device and its bus"),
        field("evaluate_every_steps", &R::evaluate_every_steps, "steps", {0, 1e12},
              "Measure held-out accuracy every so many steps; 0: once an epoch. An evaluator "
              "measures every checkpoint instead"),
        field("seconds_per_step", &R::seconds_per_step, "s", {0, 3600},
              "Pace: take at least this long a step; 0: full speed"),
        field("emulate", &R::emulate, "", {},
              "Run a drawn tpu, or a gpu whose field gpu names none of this machine's, on its CPU, "
              "labelled EMULATED"),
        field("record_ops", &R::record_ops, "", {}, "Record when every op began and ended"),
        field("hang_seconds", &R::hang_seconds, "s", {0.5, 86400},
              "A rank that makes no progress for so long is reported as hung"),
        field("checkpoint_every_steps", &R::checkpoint_every_steps, "steps", {0, 1e12},
              "Write a checkpoint every so many steps while training goes on (parameter_server, "
              "machine clock); 0: at the end alone, or where there is an "
              "evaluator, whenever held-out samples are to be measured"),
        field("resume_from", &R::resume_from, "", {},
              "Run directory whose newest whole checkpoint this run goes on from "
              "(parameter_server, machine clock); empty: from the beginning"),
        field("sampled_characters", &R::sampled_characters, "characters", {0, 10'000},
              "Text that a language model makes up whenever held-out samples are measured, by the "
              "chief's parameters, or where each device has but a part "
              "by these put together in a checkpoint (data of text, machine clock); 0: none"),
        field("temperature", &R::temperature, "", {0, 10},
              "Of that text: logits are divided by it; 1: as the model foretells, towards 0 the "
              "likeliest character alone"),
        field("restarts", &R::restarts, "", {0, 10000},
              "How often a worker that was lost is started again by itself, where the others go on "
              "without it (parameter_server that is not in step)")};
  }
};
template <>
struct Fields<experiment::Experiment> {
  using E = experiment::Experiment;
  static constexpr std::string_view title = "Trainyard experiment";
  static auto table() {
    return std::tuple{field("version", &E::version, "", {1, 1000}, "Version of this format"),
                      field("name", &E::name, "", {0, 200}, "Name of the experiment"),
                      field("notes", &E::notes, "", {0, 100000}, "Free text"),
                      field("topology", &E::topology, "", {}, "Hosts, devices, switches and links"),
                      field("model", &E::model, "", {}, "The model"),
                      field("data", &E::data, "", {}, "The data set"),
                      field("strategy", &E::strategy, "", {}, "How training is distributed"),
                      field("training", &E::training, "", {}, "Batch, optimizer, schedule"),
                      field("run", &E::run, "", {}, "How the run is carried out")};
  }
};

}  // namespace trainyard::base

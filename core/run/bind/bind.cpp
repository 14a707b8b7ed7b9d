// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "core/collective/engine_cost.h"
#include "core/model/segment_ops.h"
#include "core/model/split.h"
#include "core/plan/buffer_names.h"
#include "core/plan/text.h"
#include "core/run/bind/bind_compression.h"
#include "core/run/bind/bind_named.h"
#include "core/run/bind/bind_vertical.h"
#include "core/run/bind/buffer_map.h"
#include "core/run/bind/loaded_samples.h"
#include "core/run/bind/loss_scale.h"
#include "core/run/bind/op_numbers.h"

namespace trainyard::run {
namespace {

using compute::Tensor;
using plan::Access;
using plan::Op;
using plan::OpKind;

using model::kSoftmaxSummary;

class Binder : BufferMap {
 public:
  Binder(const BufferMap& buffers, const plan::RankPlan& plan,
         const std::vector<plan::Group>& groups, const model::Model& model, const Recipe& recipe,
         compute::Compute& compute)
      : BufferMap(buffers),
        plan_(plan),
        groups_(groups),
        model_(model),
        recipe_(recipe),
        compute_(compute) {}

  base::Result<BoundPlan> run() {
    if (auto ok = check_op_numbers(plan_); !ok) return base::fail(ok.error());
    if (auto ok = fits(); !ok) return base::fail(ok.error());
    const bool has_mean = plan_.buffer("mean").valid();  // true if ranks have local parameters
    averages_weights_ = std::any_of(
        plan_.programs.begin(), plan_.programs.end(), [&](const plan::Program& program) {
          return plan::purpose(program.name) == plan::Purpose::training &&
                 std::any_of(program.ops.begin(), program.ops.end(), [&](const Op& op) {
                   return op.kind == OpKind::weigh || (op.kind == OpKind::mix && has_mean) ||
                          op.kind == OpKind::offer;
                 });
        });
    BoundPlan bound;
    bound.parameters = named(plan_.buffer("shard").valid() ? "shard" : "params");
    bound.device = &compute_;
    bound.metrics = named("metrics");
    bound.local_norms = named("local_norms");
    bound.statistics = named("statistics");
    if (plan_.buffer("factor").valid()) bound.factor = named("factor");
    bound.loss_scale = named("loss_scale");
    begin_loss_scale(bound, recipe_.loss_scaling);
    bound.rate = named("rate");
    bound.state = named("running");
    for (int version = 0; plan_.buffer(plan::version_name(version)).valid(); ++version)
      bound.versions.push_back(named(plan::version_name(version)));
    bound.given = named("given");
    bound.compensated = named("compensated");
    for (const char* name : {"moment1", "moment2"})
      if (plan_.buffer(name).valid()) bound.moments.push_back(named(name));
    bound.squared_errors = named("squared_errors");
    bound.memory = in_memory(!compute_.on_host());
    bound.spread = named("spread");
    bound.compression_ratio = compression_ratio(plan_);
    for (const plan::Program& program : plan_.programs) {
      auto one = bind_program(program);
      if (!one) return base::fail(one.error());
      bound.programs.push_back(std::move(*one));
      bound.sums_statistics |=
          std::any_of(bound.programs.back().ops.begin(), bound.programs.back().ops.end(),
                      [](const BoundOp& op) { return op.leaves_statistics; });
    }
    return bound;
  }

 private:
  base::Result<BoundProgram> bind_program(const plan::Program& program) {
    program_ = &program;
    trains_ = std::any_of(program.ops.begin(), program.ops.end(), [](const Op& op) {
      return op.kind == OpKind::backward_weight || op.kind == OpKind::backward_input;
    });
    updates_each_ = std::any_of(program.ops.begin(), program.ops.end(), [](const Op& op) {
      return op.kind == OpKind::update && op.micro >= 0;
    });
    BoundProgram bound{program.samples,
                       program.global_samples,
                       program.repeats,
                       {},
                       {},
                       averages_weights_,
                       std::vector<bool>(model_.segments.size())};
    gradient_samples_ = bound.gradient_samples();
    bound.loads = bind_loads(program);
    for (const Op& op : program.ops) {
      samples_ = samples_of(bound, op);
      auto one = bind_op(op);
      if (!one) {
        base::Problem problem = one.error();
        problem.where =
            fmt::format("rank {}, program {}, op {}", plan_.rank, program.name, plan::token(op));
        return base::fail(problem);
      }
      one->leaves_first_loss = one->leaves_loss && std::none_of(bound.ops.begin(), bound.ops.end(),
                                                                [](const BoundOp& before) {
                                                                  return before.leaves_loss;
                                                                });
      if (one->leaves_norm)
        bound.leaves_norm[static_cast<std::size_t>(model_.owner(one->segment))] = true;
      bound.ops.push_back(std::move(*one));
    }
    return bound;
  }

  std::vector<BoundLoad> bind_loads(const plan::Program& program) {
    std::vector<BoundLoad> loads;
    for (const Op& op : program.ops) {
      if (op.kind != OpKind::load) continue;
      const Access* input = find(op.writes, "input");
      loads.push_back({op.micro, loaded_samples(plan_, op, model_),
                       input != nullptr
                           ? matrix(*input, op.columns.any() ? op.columns.count : model_.features)
                           : Tensor{},
                       brought(op, "labels"), brought(op, "sample_numbers"), op.columns});
    }
    return loads;
  }

  // Returns the access in the list to a buffer, or to a piece of this buffer; null if there is
  // none.
  const Access* find(const std::vector<Access>& accesses, const std::string& buffer) const {
    const auto at = std::find_if(accesses.begin(), accesses.end(), [&](const Access& access) {
      return plan::base_name(plan_.buffers[access.buffer.index()].name) == buffer;
    });
    return at == accesses.end() ? nullptr : &*at;
  }

  // Returns the tensor into which a load op loads `buffer`; empty if the op does not load this
  // buffer.
  Tensor brought(const Op& load, const std::string& buffer) {
    const Access* place = find(load.writes, buffer);
    return place != nullptr ? tensor(*place) : Tensor{};
  }

  // Returns the number of this rank's samples in the op's micro-step. A load may also contain
  // samples of other ranks, which do not count.
  static std::int64_t samples_of(const BoundProgram& program, const Op& op) {
    if (op.micro < 0 || program.loads.empty()) return program.samples;
    const BoundLoad* load = program.load(op.micro);
    // a program without a load for this micro-step belongs to a rank that has no samples in it
    return load != nullptr ? std::min(program.samples, load->samples) : 0;
  }

  base::Result<BoundOp> bind_op(const Op& op) {
    BoundOp bound;
    bound.kind = op.kind;
    bound.lane = op.lane;
    bound.segment = op.segment;
    bound.micro = op.micro;
    bound.bucket = op.bucket;
    bound.leaves_norm = touches(op.writes, "local_norms");
    bound.leaves_statistics = plan::communicates(op.kind) && touches(op.writes, "statistics");
    bound.leaves_loss = touches(op.writes, "metrics");
    op_ = &op;
    if (plan::communicates(op.kind) || plan::serves(op.kind)) bind_transfer(op, bound);
    bind_named_rows(
        op, plan_, model_, [this](const Access& access) { return tensor(access).data; }, bound);
    if (plan::gossips_in_pairs(op.kind)) bind_gossip(op, bound);
    if (op.kind == OpKind::offload || op.kind == OpKind::fetch) bind_copies(op, bound);
    if (op.weights.by_samples) {
      bound.weighed = mix(op);
      return bound;
    }
    for (const compute::Op& work : compute_ops(op)) {
      auto kernel = compute_.prepare(work);
      if (!kernel) return base::fail(kernel.error());
      bound.kernels.push_back(std::move(*kernel));
    }
    return bound;
  }

  void bind_transfer(const Op& op, BoundOp& bound) {
    bound.channel = op.group;
    // Sends and receives are matched by their order. The transfer number in a message only detects
    // errors.
    bound.transfer = (static_cast<std::uint32_t>(op.bucket) * 1'000'003u +
                      static_cast<std::uint32_t>(op.round)) *
                         4099u +
                     static_cast<std::uint32_t>(op.chunk);
    if (plan::serves(op.kind) && op.peer >= 0) bound.peers.push_back(op.peer);
    if (plan::serves(op.kind) && plan::carried(op) == nullptr) return;
    const Access span = plan::serves(op.kind) ? *plan::carried(op)
                        : op.writes.empty()   ? op.reads.front()
                                              : op.writes.front();
    bound.dtype = plan_.buffers[span.buffer.index()].dtype;
    bound.elements = span.count;
    bound.bytes = span.count * base::size_of(bound.dtype);
    bound.data = address(span.buffer) + span.first * base::size_of(bound.dtype);
    bound.own =
        op.kind == OpKind::reduce_many || op.kind == OpKind::copy
            ? address(op.reads.front().buffer) + op.reads.front().first * base::size_of(bound.dtype)
            : bound.data;
    if (plan::serves(op.kind)) return;
    bound.engine_bytes = collective::engine_bytes(op, plan_, groups_);
    if (plan::coarse(op.kind))
      bound.root = op.peer < 0 ? 0 : groups_[static_cast<std::size_t>(op.group)].position(op.peer);
    if (op.kind == OpKind::copy || plan::coarse(op.kind)) return;
    if (op.kind != OpKind::reduce_many) return bound.peers.push_back(op.peer);
    for (const std::int32_t rank : plan::summands(op, groups_)) {
      if (rank == plan_.rank) bound.local_position = static_cast<int>(bound.peers.size());
      else bound.peers.push_back(rank);
    }
  }

  void bind_gossip(const Op& op, BoundOp& bound) {
    const Access span = op.kind == OpKind::offer ? op.reads.front() : op.writes.back();
    bound.channel = op.group;
    bound.dtype = plan_.buffers[span.buffer.index()].dtype;
    bound.elements = span.count;
    bound.bytes = span.count * base::size_of(bound.dtype);
    bound.data = tensor(span).data;
    bound.own = op.kind == OpKind::answer ? tensor(op.reads.front()).data : bound.data;
    if (op.kind == OpKind::answer) return bound.peers.push_back(op.peer);
    bound.gossip_pair = std::make_shared<plan::GossipPair>(plan_.pairs.front());
    bound.peers.assign(bound.gossip_pair->passive.begin(), bound.gossip_pair->passive.end());
  }

  void bind_copies(const Op& op, BoundOp& bound) {
    const bool out = op.kind == OpKind::offload;
    for (std::size_t i = 0; i < op.reads.size(); ++i) {
      const Tensor near = tensor(out ? op.reads[i] : op.writes[i]),
                   home = tensor(out ? op.writes[i] : op.reads[i]);
      const OffloadSpace* const file = file_of((out ? op.writes[i] : op.reads[i]).buffer);
      bound.copies.push_back({near.data, home.data, file,
                              file != nullptr ? home.data - file->disk(0) : 0,
                              near.elements() * base::size_of(near.dtype)});
    }
  }

  std::vector<compute::Op> compute_ops(const Op& op) {
    switch (op.kind) {
      case OpKind::statistics: return model::batch_statistics(segment(op), tensors(op));
      case OpKind::partial:
        return touches(op.writes, "columns.s0")
                   ? partial_products(segment(op), tensors(op), columns(op))
                   : model::partial_sums(segment(op), tensors(op));
      case OpKind::forward: return forward(op);
      case OpKind::recompute: return recompute(op);
      case OpKind::softmax: return {summary(op)};
      case OpKind::loss: return {loss(op)};
      case OpKind::backward_input:
        return touches(op.writes, "pre_grad.s0")
                   ? scatter_gradient_rows(segment(op), tensors(op), columns(op))
                   : model::backward_input(segment(op), tensors(op));
      case OpKind::backward_weight: return backward_weight(op);
      case OpKind::zero: return zeros(op);
      case OpKind::encode:
      case OpKind::decode:
        return {compression_op(op, *program_, plan_, model_, recipe_, groups_,
                               [this](const Access& access) { return tensor(access); })};
      case OpKind::norm:
        return {compute::SquaredNorm{tensor(op.reads.front()), tensor(op.writes.front())}};
      case OpKind::clip:
        return {compute::ClipFactor{named("reduced_norms"), named("factor"), max_norm(),
                                    recipe_.skips_non_finite, loss_scale(op)}};
      case OpKind::update:
        return op.segment >= 0 ? std::vector<compute::Op>{update(op)} : updates_of_share(op);
      case OpKind::stash:
      case OpKind::cast:
        return {compute::Copy{tensor(op.reads.front()), tensor(op.writes.front())}};
      case OpKind::weigh: return {weigh(op)};
      case OpKind::mix: return {mix(op)};
      case OpKind::answer:
        return {compute::Scale{tensor(op.writes.back()), tensor(op.writes.front()),
                               1.0 / static_cast<double>(op.weights.denominator)}};
      default: return {};
    }
  }

  // Returns the kernels of a forward op. An op that reads batch norm sums, which are already
  // reduced over ranks, only normalizes.
  std::vector<compute::Op> forward(const Op& op) {
    if (touches(op.reads, "sums.s" + std::to_string(op.segment)))
      return model::normalize(segment(op), tensors(op));
    if (touches(op.reads, "pre.s0")) return finish_forward(segment(op), tensors(op), columns(op));
    if (model::activates_sum(segment(op))) return model::activate_sum(segment(op), tensors(op));
    return trains_ ? model::forward(segment(op), tensors(op))
                   : model::evaluate(segment(op), tensors(op));
  }

  // Recomputes an output. Reuses the batch norm sums of the forward pass, which has already updated
  // the running statistics.
  std::vector<compute::Op> recompute(const Op& op) {
    model::SegmentTensors t = tensors(op);
    t.state = {};
    return segment(op).kind == model::LayerKind::batch_norm ? model::normalize(segment(op), t)
                                                            : model::forward(segment(op), t);
  }

  double max_norm() const {
    return recipe_.clip_norm > 0 ? recipe_.clip_norm : std::numeric_limits<double>::infinity();
  }

  // Returns the number of samples over which a loss averages its gradient. Normally these are the
  // samples of a step on all ranks. If each micro-batch is an update, they are the samples of the
  // micro-batch on all ranks.
  std::int64_t samples_of_update(const Op& op) const {
    if (!updates_each_) return gradient_samples_;
    return op.weights.numerators.empty() ? samples_ : op.weights.denominator;
  }

  // Returns the kernels of a loss op. If the op reads summaries, the classes are split among ranks,
  // and the loss uses the summaries of all ranks. The gradient is the mean over the samples of an
  // update.
  compute::Op loss(const Op& op) {
    const auto last = static_cast<int>(model_.segments.size()) - 1;
    // number of rows; includes the samples of other ranks if this rank receives their outputs
    const std::int64_t rows = op.reads.back().count;
    const double part = 1.0 / static_cast<double>(model_.labels()),
                 scale = part / static_cast<double>(samples_of_update(op));
    const Tensor outputs = with_rows(activation(last), rows, model_.classes),
                 labels = tensor(op.reads.back());
    const Tensor gradients = touches(op.writes, "grad.s" + std::to_string(last))
                                 ? with_rows(gradient(last), rows, model_.classes)
                                 : Tensor{};
    const Tensor metrics = touches(op.writes, "metrics") ? named("metrics") : Tensor{};
    const Access* summaries = find(op.reads, "summaries");
    if (summaries == nullptr)
      return compute::SoftmaxCrossEntropy{outputs, labels, gradients,     metrics,
                                          scale,   part,   loss_scale(op)};
    Tensor of_all = tensor(*summaries);
    of_all.shape = {summaries->count / (kSoftmaxSummary * rows), kSoftmaxSummary, rows};
    return compute::SoftmaxCrossEntropyPart{outputs,   labels,  of_all,
                                            gradients, metrics, model_.segments.back().split_first,
                                            scale,     part,    loss_scale(op)};
  }

  // Returns the loss scale if the op reads it, else an empty tensor.
  Tensor loss_scale(const Op& op) {
    return touches(op.reads, "loss_scale") ? sub(named("loss_scale"), 0, 1) : Tensor{};
  }

  compute::SoftmaxSummary summary(const Op& op) {
    const auto last = static_cast<int>(model_.segments.size()) - 1;
    const std::int64_t rows = op.reads.back().count;
    return {with_rows(activation(last), rows, model_.classes), tensor(op.reads.back()),
            with_rows(tensor(op.writes.front()), kSoftmaxSummary, rows),
            model_.segments.back().split_first, model_.segments.back().split_of};
  }

  // Returns the kernels of a weight gradient op. An op that also reads the gradient accumulates: it
  // adds the new gradient from a scratch buffer to the old one, and computes the norm of the sum.
  std::vector<compute::Op> backward_weight(const Op& op) {
    model::SegmentTensors t = tensors(op);
    const Tensor sum = t.gradients,
                 norm = touches(op.writes, "local_norms") ? t.squared_norm : Tensor{};
    const bool adds = touches(op.reads, "grads");
    if (adds) t.gradients = flat("micro_grads", model_.owner(segment(op)).elements);
    t.squared_norm = adds ? Tensor{} : norm;
    std::vector<compute::Op> ops = op.columns.any() ? backward_columns(segment(op), t, columns(op))
                                                    : model::backward_weight(segment(op), t);
    if (adds) ops.emplace_back(compute::Accumulate{t.gradients, sum});
    if (adds && !norm.empty()) ops.emplace_back(compute::SquaredNorm{sum, norm});
    return ops;
  }

  // Returns the tensors of an op of the first layer if that layer is split by columns. The gradient
  // buffer contains the gradients of the rows of all ranks, then those of the local rows.
  ColumnTensors columns(const Op& op) {
    const std::int64_t outputs = segment(op).outputs;
    ColumnTensors c{op.columns, {}, {}, {}, {}, {}, {}};
    for (const auto* accesses : {&op.reads, &op.writes})
      for (const Access& access : *accesses) {
        const std::string& name = plan_.buffers[access.buffer.index()].name;
        if (name == "input") c.input = matrix(access, op.columns.count);
        if (name == "columns.s0") c.packed = matrix(access, op.columns.count);
        if (name == "pre.s0") c.sums = c.local_sums = matrix(access, outputs);
        if (name != "pre_grad.s0") continue;
        c.local_gradients = matrix(access, outputs);
        if (c.gradients.empty()) c.gradients = c.local_gradients;
      }
    return c;
  }

  bool touches(const std::vector<Access>& accesses, const std::string& buffer) const {
    return find(accesses, buffer) != nullptr;
  }

  std::vector<compute::Op> zeros(const Op& op) {
    std::vector<compute::Op> ops;
    for (const Access& write : op.writes)
      ops.emplace_back(compute::Zero{part(plan_.buffers[write.buffer.index()].name, write)});
    return ops;
  }

  // Returns the op that updates a segment, or the rank's shard of it.
  compute::Op update(const Op& op) {
    const Tensor rate = named("rate");
    std::vector<Tensor> moments;
    for (const char* name : {"moment1", "moment2"})
      if (const Access* moment = find(op.writes, name)) moments.push_back(tensor(*moment));
    compute::UpdateInputs common{tensor(op.writes.front()), tensor(op.reads.front()),
                                 sub(rate, 0, 1),
                                 plan_.buffer("factor").valid() ? named("factor") : Tensor{},
                                 sub(named("statistics"), 3 * op.segment, 3)};
    if (const Access* mixed = find(op.reads, "mixed")) common.origin = tensor(*mixed);
    return recipe_.update(common, moments, sub(rate, op.micro >= 0 ? 2 : 1, 1));
  }

  // Returns the update kernels of a server for every pair of version slots, at index [from * places
  // + to]. `from` and `to` may be equal: on the virtual clock nothing reads a slot during an
  // update.
  std::vector<compute::Op> updates_of_share(const Op& op) {
    const Access own{{}, op.writes.front().first, op.writes.front().count};
    const Tensor rate = named("rate");
    std::vector<Tensor> moments;
    for (const char* name : {"moment1", "moment2"})
      if (plan_.buffer(name).valid()) moments.push_back(part(name, own));
    std::vector<Tensor> places;
    while (plan_.buffer(plan::version_name(std::ssize(places))).valid())
      places.push_back(part(plan::version_name(std::ssize(places)), own));
    std::vector<compute::Op> ops;
    for (const Tensor& from : places)
      for (const Tensor& to : places) {
        compute::UpdateInputs common{from, part("grads", own), sub(rate, 0, 1), Tensor{},
                                     tensor(op.writes[1])};
        common.updated = to;
        ops.push_back(recipe_.update(common, moments, sub(rate, 1, 1)));
      }
    return ops;
  }

  // Returns the op that multiplies the rank's parameters by its weight in an average. A rank
  // without samples has weight zero, so its parameters become zero.
  compute::Op weigh(const Op& op) {
    const Tensor own = part("params", op.writes.front());
    if (program_->samples == 0) return compute::Zero{own};
    return compute::Scale{
        own, own,
        static_cast<double>(program_->samples) / static_cast<double>(program_->global_samples)};
  }

  compute::WeightedSum mix(const Op& op) {
    compute::WeightedSum sum{{}, {}, tensor(op.writes.front())};
    for (std::size_t i = 0; i < op.reads.size(); ++i) {
      sum.inputs.push_back(tensor(op.reads[i]));
      sum.weights.push_back(static_cast<double>(op.weights.numerators[i]) /
                            static_cast<double>(op.weights.denominator));
    }
    return sum;
  }

  model::SegmentTensors tensors(const Op& op) {
    const int s = op.segment;
    model::SegmentTensors t;
    t.input = s == 0 ? rows("input", model_.features) : activation(s - 1);
    t.output = activation(s);
    t.output_gradient = gradient(s);
    if (s > model_.first_with_parameters) t.input_gradient = gradient(s - 1);
    t.parameters = parameters_of(op);
    if (const Access* gradients = find(op.writes, "grads")) t.gradients = tensor(*gradients);
    t.squared_norm = sub(named("local_norms"), model_.owner(s), 1);
    t.multiplies = recipe_.multiplies;
    add_tensors_of_kind(segment(op), s, t);
    return t;
  }

  // Returns the parameters that the op reads: current ones, saved ones, an average, or a 16-bit
  // copy for matrix products.
  Tensor parameters_of(const Op& op) {
    for (const char* name : {"halves", "mean", "centre", "snapshot", "stash", "params"})
      if (const Access* read = find(op.reads, name)) return tensor(*read);
    return {};
  }

  void add_tensors_of_kind(const model::Segment& segment, int s, model::SegmentTensors& t) {
    const std::string number = std::to_string(s);
    if (segment.looks_up()) t.samples = rows("input", model_.features);
    if (segment.addend >= 0) t.addend = activation(segment.addend);
    if (segment.addend >= model_.first_with_parameters)
      t.addend_gradient = gradient(segment.addend);
    t.partial = rows("partial.s" + number, segment.inputs);
    t.sums = touched("sums.s" + number);
    t.gradient_sums = named("gradient_sums.s" + number);
    t.state = named("running");
    t.sample_numbers = touched("sample_numbers");
    t.step = sub(named("rate"), 1, 1);
    t.seed = static_cast<std::uint64_t>(recipe_.seed);
  }

  const model::Segment& segment(const Op& op) const {
    return model_.segments[static_cast<std::size_t>(op.segment)];
  }
  Tensor activation(int s) {
    return rows("act.s" + std::to_string(s), model_.segments[static_cast<std::size_t>(s)].outputs);
  }
  Tensor gradient(int s) {
    return rows("grad.s" + std::to_string(s), model_.segments[static_cast<std::size_t>(s)].outputs);
  }

  // Returns the part of a buffer that the op accesses, as rows of `width` elements. A buffer may
  // hold the rows of several micro-steps. If the op does not access the buffer, returns its first
  // rows.
  Tensor rows(const std::string& name, std::int64_t width) {
    const Access* place = touched_of(name);
    return place != nullptr ? matrix(*place, width) : with_rows(named(name), samples_, width);
  }
  Tensor touched(const std::string& name) {
    const Access* place = touched_of(name);
    return place != nullptr ? tensor(*place) : named(name);
  }
  const Access* touched_of(const std::string& name) const {
    const Access* read = find(op_->reads, name);
    return read != nullptr ? read : find(op_->writes, name);
  }
  const plan::RankPlan& plan_;
  const std::vector<plan::Group>& groups_;
  const model::Model& model_;
  const Recipe& recipe_;
  compute::Compute& compute_;
  const plan::Program* program_ = nullptr;
  const Op* op_ = nullptr;
  bool trains_ = false;       // true if the program trains
  std::int64_t samples_ = 0;  // samples of this rank in the op's micro-step
  std::int64_t gradient_samples_ = 0;
  bool averages_weights_ = false;  // true if some step ends with an average of weights
  // true if each micro-step makes an update; false: one update per step
  bool updates_each_ = false;
};

}  // namespace

base::Result<BoundPlan> bind(const plan::RankPlan& plan, const std::vector<plan::Group>& groups,
                             const model::Model& model, const Recipe& recipe,
                             compute::Compute& compute, const PrivateArena& private_arena,
                             const SharedArena& shared_arena, const OffloadSpace* offload_space,
                             const SharedBuffer& shared_buffer) {
  return Binder(BufferMap(plan, private_arena, shared_arena, offload_space, shared_buffer), plan,
                groups, model, recipe, compute)
      .run();
}

}  // namespace trainyard::run

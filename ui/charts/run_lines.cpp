// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/run_lines.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "core/base/json.h"
#include "core/telemetry/staleness_counts.h"
#include "ui/charts/chart_text.h"
#include "ui/charts/link_lines.h"
#include "ui/model/runs/recorded_run.h"
#include "ui/model/text/count_text.h"

namespace trainyard::ui {
namespace {

// Maximum number of steps by which a chart may lag behind its run before a message reports the lag.
constexpr std::int64_t kStepsBehind = 200;
constexpr double kLagFraction = 0.05;

using telemetry::History;
using telemetry::Metric;
using telemetry::SeriesKey;

std::vector<SeriesKey> keys_of(const History& history, Metric metric, std::optional<int> rank = {},
                               std::optional<int> index = {}) {
  std::vector<SeriesKey> keys;
  for (auto at = history.series().lower_bound({metric, 0, 0});
       at != history.series().end() && at->first.metric == metric; ++at)
    if ((!rank || at->first.rank == *rank) && (!index || at->first.index == *index))
      keys.push_back(at->first);
  return keys;
}

QString rank_name(int rank) { return chart_text("rank %1").arg(rank); }

// Selects the lines that one chart shows for one run. Metrics without data get no line.
class Lines {
 public:
  Lines(const History& history, const std::optional<RunStyle>& run, const LineChoice& choice)
      : history_(history), run_(run), choice_(choice) {}
  std::vector<LineSpec> take() { return std::move(lines_); }
  bool alone() const { return !run_; }

  LineSpec* add(const QString& id, const QString& label, int color, Source source) {
    if (source.empty()) return nullptr;
    SeriesStyle style{run_ ? (label.isEmpty() ? run_->name : run_->name + " · " + label) : label,
                      run_ ? run_->color : color};
    if (source.rate) style.joining = Joining::always;
    lines_.push_back({id, style, std::move(source), {}});
    return &lines_.back();
  }

  void add_gathered(const QString& id, const QString& label, int color, StepValues values,
                    bool markers) {
    SeriesStyle style{run_ ? run_->name + " · " + label : label, run_ ? run_->color : color};
    if (markers) style.joining = Joining::never;
    lines_.push_back({id, style, {}, {}, values});
  }

  void train_and_held_out(StepValues train, StepValues held_out) {
    add_gathered("train", chart_text("train"), 0, train, false);
    add_gathered("held_out", chart_text("held out"), 1, held_out, true);
  }

  // Selects a line of memory for each rank. Each rank samples memory at its own steps, so values
  // are not summed over ranks, and there is no value at the steps between two samples.
  void memory() {
    for (int rank = 0; rank < history_.ranks(); ++rank)
      if (LineSpec* line = add(QString("rank%1").arg(rank), rank_name(rank), rank,
                               {keys_of(history_, Metric::memory_bytes, rank)}))
        line->style.joining = Joining::never;
  }

  // Selects the lines of a device metric, one for each rank that reports it. Like memory, each rank
  // samples the metric at its own steps.
  void device(Metric metric, const QString& id, const QString& label = chart_text("rank %1"),
              bool pale = false) {
    for (int rank = 0; rank < history_.ranks(); ++rank)
      if (LineSpec* line = add(id + QString::number(rank), label.arg(rank), rank,
                               {keys_of(history_, metric, rank)}))
        line->style.joining = Joining::never, line->style.dashed = line->style.pale = pale;
  }

  // Selects the buffers of one rank, stacked by purpose. Purposes that the plan does not use are
  // omitted. A constant line shows the planned total and names the rank. If several runs are shown,
  // each run has one line: the total of the rank with the largest buffers.
  void buffers() {
    const int rank = alone() && choice_.buffers_of >= 0 && choice_.buffers_of < history_.ranks()
                         ? choice_.buffers_of
                         : with_most_buffers();
    if (rank < 0) return;
    if (!alone())
      return void(add("most", chart_text("rank with the most"), 0,
                      {keys_of(history_, Metric::buffer_bytes, rank)}));
    // in the order of run::MemoryPurpose
    const QString labels[] = {chart_text("parameters"),
                              chart_text("gradients"),
                              chart_text("moments"),
                              chart_text("activations"),
                              chart_text("other"),
                              chart_text("offloaded to the host"),
                              chart_text("offloaded to disk")};
    level("plan", chart_text("plan (rank %1)").arg(rank), planned_bytes(rank), true);
    for (std::size_t part = 0; part < std::size(labels); ++part) {
      if (plans_nothing(rank, part)) continue;
      LineSpec* line = add(QString("part%1").arg(part), labels[part],
                           component_color_index(static_cast<int>(part)),
                           {{{Metric::buffer_bytes, rank, static_cast<int>(part)}}});
      if (line == nullptr) continue;
      line->style.dashed = false;
      line->style.stacked = true;
      line->style.joining = Joining::always;
    }
  }

  // Returns the rank with the largest planned buffers.
  int with_most_buffers() const {
    int most = -1;
    for (const SeriesKey& key : keys_of(history_, Metric::buffer_bytes))
      if (most < 0 || planned_bytes(key.rank) > planned_bytes(most)) most = key.rank;
    return most;
  }

  // Returns the planned bytes of a rank's buffers by purpose. Empty if the recording does not
  // contain them.
  std::vector<double> planned_parts(int rank) const {
    const auto& all = history_.recorded_header().buffer_bytes;
    const auto index = static_cast<std::size_t>(rank);
    return index < all.size() ? all[index] : std::vector<double>();
  }
  double planned_bytes(int rank) const {
    const std::vector<double> parts = planned_parts(rank);
    return std::accumulate(parts.begin(), parts.end(), 0.0);
  }
  bool plans_nothing(int rank, std::size_t part) const {
    const std::vector<double> parts = planned_parts(rank);
    return part < parts.size() && parts[part] == 0;
  }

  void gradient_norms() {
    const bool all = choice_.segment < 0;
    for (const int segment : all ? segments_with_gradients(history_) : std::vector{chosen()}) {
      const QString name = all ? segment_name(history_, segment) : chart_text("reduced");
      LineSpec* line = add(QString("reduced%1").arg(segment), name, all ? segment : kTextColor,
                           first_rank(Metric::reduced_gradient_norm, segment));
      if (line && !all) line->style.dashed = false;
    }
    if (!alone() || all) return;
    for (int rank = 0; rank < history_.ranks(); ++rank)
      if (LineSpec* line =
              add_own(QString("local%1").arg(rank), chart_text("local, rank %1").arg(rank), rank,
                      {keys_of(history_, Metric::local_gradient_norm, rank, chosen())}))
        line->style.dashed = line->style.pale = true;
  }

  void update_ratios() {
    for (const int segment : segments_with_gradients(history_))
      if (alone() || segment == chosen())
        add(QString("segment%1").arg(segment), alone() ? segment_name(history_, segment) : "",
            segment, first_rank(Metric::update_ratio, segment));
  }

  void rank_bytes() {
    if (!alone() && history_.steps_apart()) return;
    if (!alone())
      return void(add("all", chart_text("all ranks"), 0,
                      {keys_of(history_, Metric::sent_payload_bytes), Over::sum, true}));
    for (int rank = 0; rank < history_.ranks(); ++rank) {
      add(QString("sent%1").arg(rank), chart_text("rank %1 sent").arg(rank), rank,
          {keys_of(history_, Metric::sent_payload_bytes, rank), Over::sum, true});
      if (LineSpec* line =
              add(QString("received%1").arg(rank), chart_text("rank %1 received").arg(rank), rank,
                  {keys_of(history_, Metric::received_payload_bytes, rank), Over::sum, true}))
        line->style.dashed = line->style.pale = true;
    }
  }

  // Selects the lines of link traffic. There are none if ranks run steps independently, because
  // there is then no total over all ranks for a step.
  void link_bytes() {
    if (history_.steps_apart()) return;
    const std::vector<LinkLine> links = link_lines(history_);
    Source all{{}, Over::greatest, true, {}};
    for (const LinkLine& one : links)
      all.parts.push_back({one.sent, Over::sum, true, {}, one.shares});
    if (!alone()) return void(add("greatest", chart_text("busiest link"), 0, all));
    for (std::size_t i = 0; i < links.size(); ++i)
      if (LineSpec* line = add(links[i].id, links[i].label, links[i].color, all.parts[i]);
          line && links[i].backward)
        line->style.dashed = line->style.pale = true;
  }

  void step_time() {
    if (!alone())
      return void(add("step", chart_text("slowest rank"), 0,
                      {keys_of(history_, Metric::step_seconds), Over::greatest}));
    // in the order of StepPart
    const QString labels[] = {chart_text("compute"), chart_text("wait"), chart_text("transfer"),
                              chart_text("input"), chart_text("overhead")};
    if (keys_of(history_, Metric::step_seconds).empty()) return;
    for (std::size_t part = 0; part < kStepParts; ++part) {
      LineSpec& line = lines_.emplace_back(
          LineSpec{QString("part%1").arg(part),
                   {labels[part], component_color_index(static_cast<int>(part))},
                   {},
                   {}});
      line.style.dashed = false;
      line.style.stacked = true;
      line.part = static_cast<StepPart>(part);
      if (history_.steps_apart()) line.style.joining = Joining::always;
    }
    if (keys_of(history_, Metric::imposed_seconds).empty()) return;
    LineSpec& line = lines_.emplace_back(
        LineSpec{"imposed", {chart_text("imposed compute delay"), kTextColor}, {}, {}});
    line.style.dashed = true;
    line.part = StepPart::imposed;
  }

  // Selects the line of samples per second over all ranks. With backup workers, a step uses the
  // gradients of only some workers, and it is unknown how many samples of each worker are used. In
  // this case, each rank has a line over its local steps.
  void samples_rate() {
    const std::vector<SeriesKey> all = keys_of(history_, Metric::samples);
    if (history_.steps_apart() || static_cast<int>(all.size()) > history_.reports_of_step())
      return samples_rates();
    if (LineSpec* line = add("rate", alone() ? chart_text("all ranks") : "", 0, {all}))
      line->divisor = {keys_of(history_, Metric::step_seconds), Over::greatest};
  }

  // Selects the lines of samples per second, one per rank, over the rank's local steps.
  void samples_rates() {
    for (int rank = 0; alone() && rank < history_.ranks(); ++rank)
      if (LineSpec* line = add_own(QString("rate%1").arg(rank), rank_name(rank), rank,
                                   {keys_of(history_, Metric::samples, rank)}))
        line->divisor = {keys_of(history_, Metric::step_seconds, rank), Over::greatest};
  }

  // Selects the lines of gradient staleness. With servers, there is one per worker, as measured by
  // the first server. In a pipeline, there is one per stage, as measured when the stage applied its
  // gradients.
  void staleness() {
    const std::vector<SeriesKey> keys = telemetry::gradient_series(history_, Metric::staleness);
    const bool stages = stages_report_staleness(history_);
    for (const SeriesKey& key : keys)
      if (LineSpec* line = add(QString("worker%1").arg(key.index),
                               gradient_owner_text(history_, key.index), key.index, {{key}}))
        line->style.joining = Joining::never, line->style.reach = AxisLimit::percentile;
    if (keys.empty() || !alone()) return;
    if (stages || history_.recorded_header().first_server >= 0)
      staleness_over_time();  // an older recording lacks "first_server"
    staleness_by_theory();
  }

  // Selects the lines of staleness over time for all workers together. They have one value for
  // every kGradients consecutive gradients.
  void staleness_over_time() {
    // %1: number of consecutive gradients that a value summarizes
    const QString of = chart_text("of %1").arg(telemetry::StalenessBlocks::kGradients);
    const std::tuple<const char*, QString, StepValues> all[] = {
        {"mean", chart_text("mean %1").arg(of), &History::staleness_mean},
        {"p95", chart_text("p95 %1").arg(of), &History::staleness_p95},
        {"most", chart_text("maximum %1").arg(of), &History::staleness_max}};
    for (const auto& [id, label, values] : all) {
      add_gathered(id, label, kTextColor, values, false);
      SeriesStyle& style = lines_.back().style;
      style.joining = Joining::always;  // a value covers the gradients since the previous one
      style.dashed = values == &History::staleness_max,
      style.pale = values != &History::staleness_mean;
      style.reach = AxisLimit::rest;
    }
  }

  // Selects a constant line at the staleness that theory predicts, if there is a theory for the
  // run.
  void staleness_by_theory() {
    const auto theory = recorded_staleness_theory(history_);
    if (!theory) return;
    const QString formula = QString::fromStdString(theory->words);
    if (theory->mean && theory->mean == theory->most)
      return level("theory", chart_text("theory: always %1").arg(*theory->mean), *theory->mean,
                   true);
    if (theory->mean)
      level(
          "theory_mean",
          chart_text("theory, mean: %1 = %2").arg(formula, QString::number(*theory->mean, 'g', 4)),
          *theory->mean, true);
    if (theory->mean)
      // The predicted mean is for all workers of the run. If workers are lost, only the predicted
      // maximum stays valid.
      lines_.back().of_all_ranks = true;
    if (theory->most)
      level("theory_most", chart_text("theory, maximum: %1 = %2").arg(formula).arg(*theory->most),
            static_cast<double>(*theory->most), false);
  }

  // Selects the lines of the consensus distance, which is measured at intervals. A second line
  // starts again at each measurement. It shows the upper bound that follows from the mixing matrix
  // alone.
  void consensus() {
    if (history_.consensus_distance().empty()) return;
    add_gathered("consensus", chart_text("measured"), 0, &History::consensus_distance, true);
    if (history_.consensus_decay().empty()) return;
    const double left = history_.recorded_header().lambda_2;  // factor per step
    add_gathered("decay", chart_text("mixing only (|λ₂| = %1)").arg(left, 0, 'g', 4), 1,
                 &History::consensus_decay, false);
    lines_.back().style.joining = Joining::always;
    lines_.back().style.dashed = lines_.back().style.pale = true;
  }

  void residual_norms() { of_ranks(Metric::residual_norm); }

  // Selects the lines of pairwise averages. A value is the number of averages that a rank has
  // requested or answered so far.
  void averages() { of_ranks(Metric::averages); }

  void compression_ratio() {
    add("ratio", alone() ? chart_text("gradient bytes per sent byte") : "", 0,
        first_rank(Metric::compression_ratio, 0));
  }

  void table_ratios() { of_ranks(Metric::table_ratio); }

  void loss_scale() {
    add("scale", alone() ? chart_text("loss scale") : "", 0, first_rank(Metric::loss_scale, 0));
  }

  void learning_rate() {
    add("rate", alone() ? chart_text("learning rate") : "", 0,
        first_rank(Metric::learning_rate, 0));
  }

 private:
  // Adds a line of a single rank. If ranks run steps independently, other ranks execute the steps
  // between two steps of this rank. The line is then joined across these steps.
  LineSpec* add_own(const QString& id, const QString& label, int color, Source source) {
    LineSpec* line = add(id, label, color, std::move(source));
    if (line && history_.steps_apart()) line->style.joining = Joining::always;
    return line;
  }

  void of_ranks(Metric metric) {
    if (!alone())
      return void(add("greatest", chart_text("maximum over ranks"), 0,
                      {keys_of(history_, metric), Over::greatest}));
    for (int rank = 0; rank < history_.ranks(); ++rank)
      add_own(QString("rank%1").arg(rank), rank_name(rank), rank,
              {keys_of(history_, metric, rank)});
  }

  void level(const QString& id, const QString& label, double value, bool dashed) {
    add_gathered(id, label, kTextColor, &History::train_loss, false);
    lines_.back().style.dashed = dashed;
    lines_.back().style.joining = Joining::always;
    lines_.back().level = value;
  }
  // Returns a source for a value that is equal on all ranks: it is read from the first rank that
  // reports it.
  Source first_rank(Metric metric, int index) const {
    auto keys = keys_of(history_, metric, {}, index);
    if (keys.size() > 1) keys.resize(1);
    return {keys};
  }
  int chosen() const {
    const std::vector<int> with = segments_with_gradients(history_);
    return with.empty() || std::ranges::find(with, choice_.segment) != with.end()
               ? std::max(choice_.segment, 0)
               : with.front();
  }

  const History& history_;
  const std::optional<RunStyle>& run_;
  const LineChoice& choice_;
  std::vector<LineSpec> lines_;
};

}  // namespace

QString segment_name(const telemetry::History& history, int segment) {
  const auto& names = history.segments();
  return segment < static_cast<int>(names.size())
             ? QString::fromStdString(names[static_cast<std::size_t>(segment)])
             : chart_text("segment %1").arg(segment);
}

bool stages_report_staleness(const telemetry::History& history) {
  const std::vector<SeriesKey> keys = telemetry::gradient_series(history, Metric::staleness);
  return !keys.empty() && keys.front().rank == keys.front().index;
}

QString gradient_owner_text(const telemetry::History& history, int rank) {
  return (stages_report_staleness(history) ? chart_text("stage, rank %1")
                                           : chart_text("worker, rank %1"))
      .arg(rank);
}

std::vector<int> segments_with_gradients(const telemetry::History& history) {
  std::set<int> with;
  for (const SeriesKey& key : keys_of(history, Metric::update_ratio)) with.insert(key.index);
  std::vector<int> segments(with.begin(), with.end());
  if (!segments.empty()) return segments;
  segments.resize(history.segments().size());
  std::iota(segments.begin(), segments.end(), 0);
  return segments;
}

bool sends(const telemetry::History& history) {
  return !keys_of(history, Metric::sent_payload_bytes).empty();
}

// Returns the titles of charts about the use of GPUs. GPU drivers report this use for all processes
// together.
static ChartTitle gpu_chart_title(ChartKind kind) {
  const auto text = [](const QString& what) {
    return chart_text("%1 Reported by the GPU driver for all processes; sampled twice per second.")
        .arg(what);
  };
  if (kind == ChartKind::gpu_busy)
    return {"gpu_busy", chart_text("GPU busy"), chart_text("of time"),
            text(chart_text(
                "Fraction of the last sample period in which a kernel ran on the rank’s GPU."))};
  if (kind == ChartKind::gpu_memory)
    return {"gpu_memory", chart_text("GPU memory"), "B",
            text(chart_text("Memory in use on the rank’s GPU."))};
  if (kind == ChartKind::gpu_power)
    return {"gpu_power", chart_text("GPU power"), "W",
            text(chart_text("Power draw of the rank’s GPU; 0: not reported."))};
  return {"gpu_traffic", chart_text("GPU traffic"), "B/s",
          text(chart_text(
              "Bytes that the rank’s GPU received (and, in pale lines, sent) over the host bus."))};
}

// Returns the titles of charts whose data only few runs have.
static ChartTitle special_chart_title(ChartKind kind) {
  switch (kind) {
    case ChartKind::residual_norm:
      return {"residual_norm", chart_text("Compression residual"), chart_text("L2 norm"),
              chart_text("Norm of the error feedback: the gradient parts that a rank has not sent "
                         "yet and adds to the next gradient.")};
    case ChartKind::compression_ratio:
      return {"compression_ratio", chart_text("Gradient compression"), chart_text("×"),
              chart_text("Bytes of the gradient, divided by the bytes that a rank sent for it.")};
    case ChartKind::table_ratio:
      return {
          "table_ratio", chart_text("Embedding tables: all / pulled rows"), chart_text("×"),
          chart_text(
              "Bytes of the full tables, divided by the bytes of the rows that a worker’s samples "
              "use. A worker pulls full tables for an evaluation, so the ratio is lower at these "
              "steps.")};
    case ChartKind::loss_scale:
      return {"loss_scale", chart_text("Loss scale"), chart_text("×"),
              chart_text("Factor applied to the loss to keep fp16 gradients in range; halved after "
                         "a skipped step.")};
    case ChartKind::consensus:
      return {
          "consensus", chart_text("Consensus distance"), chart_text("L2 norm"),
          chart_text(
              "Distance of the ranks’ parameters from their mean: the root mean square over "
              "ranks, at the measured steps. A dashed line between two measurements is the upper "
              "bound without gradient updates: each mixing step scales the distance by |λ₂|.")};
    case ChartKind::averages:
      return {"averages", chart_text("Pairwise averages"), chart_text("averages"),
              chart_text("Number of averages with one neighbor that a rank has requested or "
                         "answered so far.")};
    case ChartKind::staleness:
      return {
          "staleness", chart_text("Gradient staleness"), chart_text("versions"),
          chart_text("Version of the parameters that a gradient was applied to, minus the version "
                     "that it was computed with. The axis covers 99 % of the gradients; larger "
                     "values, for example after an evaluation by a worker, are marked at its end "
                     "(the chart menu can extend the axis to the largest value).")};
    default: return gpu_chart_title(kind);
  }
}

ChartTitle chart_title(ChartKind kind) {
  switch (kind) {
    case ChartKind::loss:
      return {"loss", chart_text("Loss"), "",
              chart_text("Train: mean over the samples of all ranks in a step. Held out: mean over "
                         "all held-out samples, at the steps of an evaluation.")};
    case ChartKind::accuracy:
      return {"accuracy", chart_text("Accuracy"), "",
              chart_text(
                  "Fraction of samples classified correctly, over the same samples as the loss.")};
    case ChartKind::gradient_norm:
      return {"gradient_norm", chart_text("Gradient norm"), chart_text("L2 norm"),
              chart_text("Local: gradient mean over a rank’s local samples, before the reduction. "
                         "Reduced: the gradient used for the update.")};
    case ChartKind::update_ratio:
      return {"update_ratio", chart_text("Update ratio"), chart_text("|Δw| / |w|"),
              chart_text("Norm of the update, divided by the norm of the parameters. About 0.001 "
                         "is usual; much larger values make training unstable.")};
    case ChartKind::rank_bytes:
      return {
          "rank_bytes", chart_text("Rank traffic within steps"), "B/s",
          chart_text("Payload sent and received by a rank, divided by the time that it spent in "
                     "steps. Measured in the transport.")};
    case ChartKind::link_bytes:
      return {
          "link_bytes", chart_text("Link traffic within steps"), "B/s",
          chart_text("Payload in each direction between two ranks, divided by the time that the "
                     "sender spent in steps. Measured in the transport.")};
    case ChartKind::step_time:
      return {"step_time", chart_text("Step time"), "s",
              chart_text("Time of a step of a rank: compute, wait for peers, transfer, input and "
                         "loop overhead.")};
    case ChartKind::samples_rate:
      return {"samples_rate", chart_text("Throughput within steps"), chart_text("samples/s"),
              chart_text("Samples per step, divided by the step time and summed over ranks. Time "
                         "between steps, such as evaluation, is excluded.")};
    case ChartKind::learning_rate:
      return {"learning_rate", chart_text("Learning rate"), "",
              chart_text("Learning rate of the schedule, as used by the update of the step.")};
    case ChartKind::memory:
      return {"memory", chart_text("Resident memory of ranks"), "B",
              chart_text("Resident set size of a rank’s process, reported by the operating system; "
                         "sampled twice per second.")};
    case ChartKind::buffers:
      return {
          "buffers", chart_text("Buffers by purpose"), "B",
          chart_text(
              "Resident buffers of the rank that “Buffers of” selects; sampled twice per second. "
              "Excludes code and data of the program.")};
    default: return special_chart_title(kind);
  }
}

QStringList lag_message(std::int64_t step, std::int64_t charted) {
  const std::int64_t behind = step - charted;
  if (behind < kStepsBehind ||
      static_cast<double>(behind) < kLagFraction * static_cast<double>(step))
    return {};
  return {chart_text("charts are %n step(s) behind the run and catching up", plural(behind))};
}

QStringList distinct_suffixes(const QStringList& names) {
  QList<QStringList> words;
  for (const QString& name : names) words << name.split(' ');
  const auto drop_first = [&] {
    for (QStringList& of_one : words) of_one.removeFirst();
  };
  const auto common = [&] {
    return std::ranges::all_of(words, [&](const QStringList& of_one) {
      return of_one.size() > 1 && of_one.first() == words.first().first();
    });
  };
  while (!words.isEmpty() && common()) drop_first();
  QStringList left;
  for (const QStringList& of_one : words) left << of_one.join(' ');
  return left;
}

std::vector<LineSpec> lines_of(ChartKind kind, const History& history,
                               const std::optional<RunStyle>& run, const LineChoice& choice) {
  Lines lines(history, run, choice);
  switch (kind) {
    case ChartKind::loss:
      lines.train_and_held_out(&History::train_loss, &History::held_out_loss);
      break;
    case ChartKind::accuracy:
      lines.train_and_held_out(&History::train_accuracy, &History::held_out_accuracy);
      break;
    case ChartKind::gradient_norm: lines.gradient_norms(); break;
    case ChartKind::update_ratio: lines.update_ratios(); break;
    case ChartKind::rank_bytes: lines.rank_bytes(); break;
    case ChartKind::link_bytes: lines.link_bytes(); break;
    case ChartKind::step_time: lines.step_time(); break;
    case ChartKind::samples_rate: lines.samples_rate(); break;
    case ChartKind::learning_rate: lines.learning_rate(); break;
    case ChartKind::memory: lines.memory(); break;
    case ChartKind::buffers: lines.buffers(); break;
    case ChartKind::gpu_busy: lines.device(Metric::device_busy, "busy"); break;
    case ChartKind::gpu_memory: lines.device(Metric::device_memory_bytes, "memory"); break;
    case ChartKind::gpu_power: lines.device(Metric::device_watts, "watts"); break;
    case ChartKind::gpu_traffic:
      lines.device(Metric::device_received_bytes_per_second, "received",
                   chart_text("rank %1 received"));
      lines.device(Metric::device_sent_bytes_per_second, "sent", chart_text("rank %1 sent"), true);
      lines.device(Metric::device_links_received_bytes_per_second, "links_received",
                   chart_text("rank %1 received by NVLink"));
      lines.device(Metric::device_links_sent_bytes_per_second, "links_sent",
                   chart_text("rank %1 sent by NVLink"), true);
      break;
    case ChartKind::residual_norm: lines.residual_norms(); break;
    case ChartKind::compression_ratio: lines.compression_ratio(); break;
    case ChartKind::table_ratio: lines.table_ratios(); break;
    case ChartKind::loss_scale: lines.loss_scale(); break;
    case ChartKind::staleness: lines.staleness(); break;
    case ChartKind::consensus: lines.consensus(); break;
    case ChartKind::averages: lines.averages(); break;
  }
  return lines.take();
}

}  // namespace trainyard::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/recorded_documents.h"

#include "core/base/json.h"
#include "core/base/stored_document.h"

namespace trainyard::telemetry {
namespace {

constexpr double kMaxNumber = 1e15;  // Bound of steps and bytes, so that sums do not overflow.
constexpr double kMaxRank = kMaxRanks - 1;
constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

struct ProblemValues {
  std::string id, code, where, what, accepted, advice;
};

// Values that a state, a result or a log line has only sometimes.
struct OptionalValues {
  ProblemValues problem;
  Fault fault;
  std::int64_t time_ns = kAbsent, committed_step = kAbsent, diverged_step = kAbsent;
};

std::optional<std::int64_t> present(std::int64_t value) {
  return value == kAbsent ? std::nullopt : std::optional(value);
}

bool has_object(const base::Json& json, const char* key) {
  const auto at = json.is_object() ? json.find(key) : json.end();
  return at != json.end() && at->is_object();
}

// Returns the recorded problem. Distinguishes only canceled runs from failed ones.
std::optional<base::Problem> problem_of(const base::Json& json, ProblemValues values) {
  if (!has_object(json, "problem")) return {};
  const bool canceled = values.code == base::name(base::ProblemCode::canceled);
  return base::Problem{std::move(values.id),
                       canceled ? base::ProblemCode::canceled : base::ProblemCode::failed,
                       std::move(values.where),
                       std::move(values.what),
                       std::move(values.accepted),
                       std::move(values.advice)};
}

}  // namespace
}  // namespace trainyard::telemetry

namespace trainyard::base {

using telemetry::kMaxNumber;
using telemetry::kMaxRank;

template <>
struct Fields<telemetry::RecordedHeader> {
  using H = telemetry::RecordedHeader;
  static constexpr std::string_view title = "Header of a recording";
  static auto table() {
    return std::tuple{
        field("ranks", &H::ranks, "ranks", {1, telemetry::kMaxRanks}, "Number of ranks"),
        field("segments", &H::segments, "", {}, "Names of the segments of the model"),
        field("software", &H::software, "", {}, "Version that made the recording"),
        field("started_unix_seconds", &H::started_unix_seconds, "s", {0, 1e12}, "Start time"),
        field("cores", &H::cores, "cores", {1, 1e6}, "Usable cores of the machine"),
        field("reports_of_step", &H::reports_of_step, "ranks", {1, telemetry::kMaxRanks},
              "Number of ranks that report a training step"),
        field("reports_of_evaluation", &H::reports_of_evaluation, "ranks",
              {1, telemetry::kMaxRanks}, "Number of ranks that report an evaluation"),
        field("only_applied", &H::only_applied, "", {},
              "Only ranks whose gradients were applied report a training step"),
        field("first_server", &H::first_server, "", {0, kMaxRank}, "Rank of the first server"),
        field("steps_apart", &H::steps_apart, "steps", {1, kMaxNumber},
              "Number of steps between evaluations"),
        field("evaluator", &H::evaluator, "", {0, kMaxRank}, "Rank of the evaluator"),
        field("first_step", &H::first_step, "steps", {0, kMaxNumber}, "First step of the run"),
        field("lambda_2", &H::lambda_2, "", {}, "Second eigenvalue of the mixing matrix"),
        field("buffer_bytes", &H::buffer_bytes, "B", {0, telemetry::kMaxRanks},
              "Planned bytes of buffers, by rank and purpose"),
        field("padding_bytes", &H::padding_bytes, "B", {0, telemetry::kMaxRanks},
              "Planned bytes between buffers, by rank")};
  }
};

template <>
struct Fields<telemetry::ProblemValues> {
  using P = telemetry::ProblemValues;
  static constexpr std::string_view title = "Problem";
  static auto table() {
    return std::tuple{field("id", &P::id, "", {}, "Kind of problem"),
                      field("code", &P::code, "", {}, "Class of problems"),
                      field("where", &P::where, "", {}, "Location"),
                      field("what", &P::what, "", {}, "Description"),
                      field("accepted", &P::accepted, "", {}, "Accepted values"),
                      field("advice", &P::advice, "", {}, "Advice")};
  }
};

template <>
struct Fields<telemetry::Fault> {
  using F = telemetry::Fault;
  static constexpr std::string_view title = "Fault";
  static auto table() {
    return std::tuple{field("kind", &F::kind, "", {}, "Kind of fault"),
                      field("text", &F::text, "", {}, "Description"),
                      field("rank", &F::rank, "", {-1, kMaxRank}, "Rank; -1: a link"),
                      field("step", &F::step, "", {-kMaxNumber, kMaxNumber}, "Step"),
                      field("seconds", &F::seconds, "s", {}, "Time since the start"),
                      field("link", &F::link, "", {-1, 1e6}, "Index of the link; -1: a rank")};
  }
};

template <>
struct Fields<telemetry::OptionalValues> {
  using O = telemetry::OptionalValues;
  static constexpr std::string_view title = "Optional values";
  static auto table() {
    return std::tuple{field("problem", &O::problem, "", {}, "Problem that ended the run"),
                      field("fault", &O::fault, "", {}, "Fault of a rank or a link"),
                      field("time_ns", &O::time_ns, "ns", {}, "Time"),
                      field("committed_step", &O::committed_step, "", {0, kMaxNumber},
                            "Step of the last checkpoint"),
                      field("diverged_step", &O::diverged_step, "", {-kMaxNumber, kMaxNumber},
                            "First step whose loss is not finite")};
  }
};

template <>
struct Fields<telemetry::RecordedState> {
  using S = telemetry::RecordedState;
  static constexpr std::string_view title = "State of a run";
  static auto table() {
    return std::tuple{field("state", &S::state, "", {}, "State of the run"),
                      field("step", &S::step, "", {-kMaxNumber, kMaxNumber}, "Step of the run"),
                      field("seconds_per_step", &S::seconds_per_step, "s", {0, kMaxNumber},
                            "Least time per step")};
  }
};

template <>
struct Fields<telemetry::RecordedRank> {
  using R = telemetry::RecordedRank;
  static constexpr std::string_view title = "Result of a rank";
  static auto table() {
    return std::tuple{
        field("sent_bytes", &R::sent_bytes, "B", {0, kMaxNumber}, "Sent payload"),
        field("parameters_xxh64", &R::parameters_xxh64, "", {}, "Hash of the final parameters"),
        field("emulated", &R::emulated, "", {}, "True if the rank ran on another device")};
  }
};

template <>
struct Fields<telemetry::RecordedStepSeconds> {
  using S = telemetry::RecordedStepSeconds;
  static constexpr std::string_view title = "Step times";
  static auto table() {
    return std::tuple{field("median", &S::median, "s", {}, "Median"),
                      field("p95", &S::p95, "s", {}, "95th percentile")};
  }
};

template <>
struct Fields<telemetry::RecordedResult> {
  using R = telemetry::RecordedResult;
  static constexpr std::string_view title = "Result of a run";
  static auto table() {
    return std::tuple{
        field("status", &R::status, "", {}, "Status"),
        field("steps", &R::steps, "steps", {-kMaxNumber, kMaxNumber}, "Completed steps"),
        field("first_step", &R::first_step, "steps", {0, kMaxNumber}, "First step of the run"),
        field("wall_seconds", &R::wall_seconds, "s", {}, "Duration"),
        field("samples_per_second", &R::samples_per_second, "1/s", {}, "Throughput"),
        field("train_loss", &R::train_loss, "", {}, "Loss of the last step"),
        field("held_out_accuracy", &R::held_out_accuracy, "", {}, "Accuracy, held-out samples"),
        field("simulated_step_seconds", &R::simulated_step_seconds, "s", {},
              "Step time, simulated with the drawn speeds"),
        field("step_seconds", &R::step_seconds, "s", {}, "Step times of the slowest rank"),
        field("ranks", &R::ranks, "", {0, telemetry::kMaxRanks}, "Results of the ranks")};
  }
};

template <>
struct Fields<telemetry::RecordedThinning> {
  using T = telemetry::RecordedThinning;
  static constexpr std::string_view title = "Thinning of a recording";
  static auto table() {
    return std::tuple{
        field("from_step", &T::from_step, "", {0, kMaxNumber}, "First thinned step"),
        field("interval_steps", &T::interval_steps, "steps", {1, 1e9}, "Steps of a block"),
        field("limit_bytes", &T::limit_bytes, "B", {0, kMaxNumber}, "Limit of the recording"),
        field("dropped_ops", &T::dropped_ops, "ops", {0, kMaxNumber}, "Unrecorded ops"),
        field("summarized_values", &T::summarized_values, "values", {0, kMaxNumber},
              "Values that are recorded only in blocks")};
  }
};

template <>
struct Fields<telemetry::RecordedLogLine> {
  using L = telemetry::RecordedLogLine;
  static constexpr std::string_view title = "Log line";
  static auto table() {
    return std::tuple{field("level", &L::level, "", {}, "Level"),
                      field("text", &L::text, "", {}, "Text")};
  }
};

}  // namespace trainyard::base

namespace trainyard::telemetry {
namespace {

template <class Document>
Document read(const base::Json& json, base::Problems& problems) {
  Document document;
  base::read_present(json, document, "", problems);
  return document;
}

// Does not report a value that is no object, which the caller has reported already.
OptionalValues optional_values(const base::Json& json, base::Problems& problems) {
  OptionalValues values;
  if (json.is_object()) base::read_present(json, values, "", problems);
  return values;
}

}  // namespace

RecordedHeader read_header(const base::Json& json, base::Problems& problems) {
  return read<RecordedHeader>(json, problems);
}

RecordedState read_state(const base::Json& json, base::Problems& problems) {
  auto state = read<RecordedState>(json, problems);
  OptionalValues values = optional_values(json, problems);
  state.time_ns = present(values.time_ns);
  state.problem = problem_of(json, std::move(values.problem));
  if (has_object(json, "fault")) {
    state.fault = std::move(values.fault);
    if (!(*json.find("fault")).contains("step")) state.fault->step = state.step;
  }
  return state;
}

RecordedResult read_result(const base::Json& json, base::Problems& problems) {
  auto result = read<RecordedResult>(json, problems);
  OptionalValues values = optional_values(json, problems);
  result.committed_step = present(values.committed_step);
  result.diverged_step = present(values.diverged_step);
  result.problem = problem_of(json, std::move(values.problem));
  return result;
}

RecordedThinning read_thinning(const base::Json& json, base::Problems& problems) {
  return read<RecordedThinning>(json, problems);
}

base::Json to_json(const RecordedThinning& thinning) {
  return {{"from_step", thinning.from_step},
          {"interval_steps", thinning.interval_steps},
          {"limit_bytes", thinning.limit_bytes},
          {"dropped_ops", thinning.dropped_ops},
          {"summarized_values", thinning.summarized_values}};
}

RecordedLogLine read_log_line(const base::Json& json, base::Problems& problems) {
  auto line = read<RecordedLogLine>(json, problems);
  line.time_ns = present(optional_values(json, problems).time_ns);
  return line;
}

Fault read_fault(const base::Json& json, base::Problems& problems) {
  return read<Fault>(json, problems);
}

}  // namespace trainyard::telemetry

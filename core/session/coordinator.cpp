// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/coordinator.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <random>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/plan/text.h"
#include "core/run/layout.h"
#include "core/session/pacer.h"
#include "core/session/run_directory.h"
#include "core/session/run_result.h"
#include "core/session/watch.h"
#include "core/strategy/strategy.h"

namespace trainyard::session {
namespace {

using base::Json;
using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr std::chrono::milliseconds kTick{10};
constexpr std::int64_t kFlushPeriod = 50'000'000;  // ns between two flushes of the recording
constexpr std::int64_t kObservePeriod = 200'000'000;
constexpr std::int64_t kKeepAlive = 1'000'000'000;  // ns between two words to the ranks
constexpr std::int64_t kStartLimit = 60'000'000'000;
constexpr std::int64_t kEndLimit = 5'000'000'000;    // for ranks to leave once they have finished
constexpr std::int64_t kAbortLimit = 1'000'000'000;  // for ranks to leave once told to
constexpr std::int64_t kSettleTime = 300'000'000;    // a rank's own last word may still be on its way

std::string make_token() {
  std::random_device device;
  return base::hex((std::uint64_t{device()} << 32) | device());
}

struct RankSeat {
  RankIdentity identity;
  std::string name;  // "rank 2 (cpu2 on alpha)"
  std::unique_ptr<RankHandle> handle;
  PeerId peer;  // empty until it said hello
  std::string software, endpoint, plan_hash;
  std::int64_t process = 0;
  bool planned = false, reported_end = false;
  std::int64_t ended_ns = 0;  // when its end was seen
  std::optional<Finished> finished;
};

class Coordinator {
 public:
  explicit Coordinator(CoordinatorParts parts)
      : p_(std::move(parts)),
        pacer_(p_.resolved.steps, p_.resolved.document.run.seconds_per_step),
        watch_(rank_names(), {p_.silent_seconds, p_.resolved.document.run.hang_seconds}) {}

  Result<CoordinatorResult> run() {
    if (const auto ok = open(); !ok) return base::fail(ok.error());
    if (const auto ok = launch(); !ok) end(RunState::failed, ok.error());
    while (!over()) tick();
    return close();
  }

 private:
  // Opening --------------------------------------------------------------------------------------------------------

  std::vector<std::string> rank_names() const {
    const topology::Network network(p_.resolved.document.topology);
    std::vector<std::string> names;
    for (std::size_t r = 0; r < p_.resolved.ranks.size(); ++r)
      names.push_back("rank " + std::to_string(r) + " (" + network.device(p_.resolved.ranks[r]).name + " on " + network.host(p_.resolved.ranks[r]).name + ")");
    return names;
  }

  Result<void> open() {
    auto plan = strategy::make_plan(p_.resolved);
    if (!plan) return base::fail(plan.error());
    plan_ = std::move(*plan);
    plan_hash_ = plan::hash(plan_);
    for (const auto& [name, text] : {std::pair<const char*, std::string>{"experiment.json", experiment::to_json(p_.given).dump(2) + "\n"},
                                     {"resolved.json", experiment::to_json(p_.resolved).dump(2) + "\n"},
                                     {"plan.txt", plan::to_text(plan_)}})
      if (const auto written = base::write_file_atomically(p_.run_directory / name, text); !written) return written;
    auto recording = telemetry::RecordingWriter::create(p_.run_directory / telemetry::kRecordingFile, header());
    if (!recording) return base::fail(recording.error());
    recording_.emplace(std::move(*recording));
    record_json(telemetry::FrameType::header, header());
    for (std::int32_t rank = 0; rank < plan_.ranks; ++rank) {
      const std::string text = plan::to_text(plan_.rank_plan(rank));
      record(telemetry::FrameType::plan, rank, std::as_bytes(std::span(text)));
    }
    log_.open(p_.run_directory / "run.log");
    log_ << std::fixed;
    log_.precision(3);
    set_state(RunState::starting);
    return base::write_file_atomically(p_.run_directory / "control", p_.server->endpoint() + "\n");
  }

  Json header() const {
    Json segments = Json::array();
    for (const model::Segment& segment : p_.resolved.model.segments) segments.push_back(segment.name);
    return {{"schema", telemetry::kRecordingSchema},
            {"software", TRAINYARD_VERSION},
            {"run", p_.run_directory.filename().string()},
            {"ranks", p_.resolved.world()},
            {"segments", segments},
            {"generation", 1},
            {"plan_hash", plan_hash_},
            {"started_unix_seconds", std::time(nullptr)},
            {"experiment", experiment::to_json(p_.resolved)}};
  }

  Result<void> launch() {
    const auto names = rank_names();
    LaunchRequest request;
    for (int r = 0; r < p_.resolved.world(); ++r) {
      RankSeat seat;
      seat.identity = {r, make_token(), p_.server->endpoint()};
      seat.name = names[static_cast<std::size_t>(r)];
      request.ranks.push_back(seat.identity);
      request.shared_bytes.push_back(static_cast<std::size_t>(run::layout(plan_.rank_plan(r)).shared_bytes));
      seats_.push_back(std::move(seat));
    }
    request.experiment = &p_.resolved;
    request.channels = static_cast<int>(plan_.groups.size());
    request.run_directory = p_.run_directory;
    auto handles = p_.launch(request);
    if (!handles) return base::fail(handles.error());
    say("info", "started " + std::to_string(seats_.size()) + (seats_.size() == 1 ? " rank" : " ranks") + ", plan " + plan_hash_, -1);
    for (std::size_t r = 0; r < seats_.size(); ++r) {
      seats_[r].handle = std::move((*handles)[r]);
      seats_[r].process = seats_[r].handle->process();
    }
    begun_ns_ = base::now_nanoseconds();
    return {};
  }

  // The loop -------------------------------------------------------------------------------------------------------

  bool over() const {
    return ended_ && std::all_of(seats_.begin(), seats_.end(), [](const RankSeat& seat) { return !seat.handle || seat.handle->ended(); });
  }

  void tick() {
    receive_all();
    const std::int64_t now = base::now_nanoseconds();
    look_at_processes(now);
    look_at_interrupts();
    if (!ended_ && state_ == RunState::starting && now - begun_ns_ > kStartLimit) end(RunState::failed, not_started());
    if (!ended_)
      if (auto problem = watch_.judge(pacer_.horizon(), now)) end_for_want_of_life(*problem, now);
    if (training()) steer(now);
    if (ended_ && now > kill_ns_) kill_the_rest();
    housekeeping(now);
  }

  // A rank that does not answer will not leave when told, either.
  void end_for_want_of_life(const Problem& problem, std::int64_t now) {
    end(RunState::failed, problem);
    for (RankSeat& seat : seats_)
      if (watch_.is_silent(seat.identity.rank, now) && seat.handle) seat.handle->kill();
  }

  bool training() const { return !ended_ && state_ != RunState::starting; }

  void receive_all() {
    for (int i = 0; i < 256; ++i) {
      const auto received = p_.server->receive(i == 0 ? kTick : std::chrono::milliseconds(0));
      if (!received) return end(RunState::failed, received.error());
      if (!*received) return;
      std::visit([&](const auto& message) { take((*received)->from, message); }, (*received)->message);
    }
  }

  void look_at_processes(std::int64_t now) {
    for (RankSeat& seat : seats_) {
      if (seat.reported_end || !seat.handle) continue;
      const auto how = seat.handle->ended();
      if (!how || seat.finished) continue;
      if (seat.ended_ns == 0) seat.ended_ns = now;
      // What it said before it left may still be on its way: that says more than its exit status.
      if (!seat.handle->killed() && now - seat.ended_ns < kSettleTime) continue;
      seat.reported_end = true;
      if (!ended_) end(RunState::failed, watch_.died(seat.identity.rank, *how));
    }
  }

  void look_at_interrupts() {
    const int interrupts = p_.interrupts ? p_.interrupts() : 0;
    if (interrupts >= 1 && !cancelling_) {
      cancelling_ = true;
      if (state_ == RunState::starting) end(RunState::cancelled, cancelled());
      else stop();
    }
    if (interrupts >= 2 && !ended_) end(RunState::cancelled, cancelled());
  }

  void steer(std::int64_t now) {
    std::int64_t slowest = p_.resolved.steps;
    for (const RankSeat& seat : seats_)
      if (!seat.finished) slowest = std::min(slowest, watch_.last(seat.identity.rank).step);
    pacer_.at_step(slowest);
    const auto grant = pacer_.grant(now);
    if (grant || now - spoke_ns_ > kKeepAlive) {
      spoke_ns_ = now;
      last_grant_ = grant.value_or(last_grant_);
      broadcast(last_grant_);
    }
    if (state_ == RunState::pausing && pacer_.pausing() && pacer_.at_horizon()) set_state(RunState::paused);
    if (std::all_of(seats_.begin(), seats_.end(), [](const RankSeat& seat) { return seat.finished.has_value(); })) finish();
  }

  void finish() {
    const bool disagree = std::any_of(seats_.begin(), seats_.end(),
                                      [&](const RankSeat& seat) { return seat.finished->parameters_xxh64 != seats_[0].finished->parameters_xxh64; });
    if (disagree) return end(RunState::failed, different_weights());
    if (cancelling_) return end(RunState::cancelled, cancelled());
    end(RunState::finished, std::nullopt);
  }

  void housekeeping(std::int64_t now) {
    if (now - flushed_ns_ > kFlushPeriod) {
      flushed_ns_ = now;
      if (const auto ok = recording_->flush(); !ok) cannot_record(ok.error());
    }
    if (p_.observe && now - observed_ns_ > kObservePeriod) {
      observed_ns_ = now;
      p_.observe(status(0), history_);
    }
  }

  // What ranks tell ------------------------------------------------------------------------------------------------

  RankSeat* seat_of(const PeerId& peer, std::int32_t rank) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= seats_.size()) return nullptr;
    RankSeat& seat = seats_[static_cast<std::size_t>(rank)];
    return peers_.contains(peer) && peers_[peer] == rank ? &seat : nullptr;
  }

  void take(const PeerId& from, const Hello& hello) {
    if (hello.rank < 0 || static_cast<std::size_t>(hello.rank) >= seats_.size()) return;
    RankSeat& seat = seats_[static_cast<std::size_t>(hello.rank)];
    if (hello.token != seat.identity.token) return refuse(from, hello);
    peers_[from] = hello.rank;
    if (!seat.peer.empty()) return;  // the connection of its heartbeats
    seat.peer = from;
    if (ended_) return p_.server->send(from, Abort{problem_.value_or(cancelled())});
    seat.software = hello.software;
    if (hello.process > 0) seat.process = hello.process;
    if (seat.software != TRAINYARD_VERSION) return end(RunState::failed, disagreement("software", &RankSeat::software, TRAINYARD_VERSION));
    p_.server->send(from, Assign{experiment::to_json(p_.resolved).dump(), 1, p_.run_directory.string()});
  }

  void refuse(const PeerId& stranger, const Hello& hello) {
    const std::string name = "rank " + std::to_string(hello.rank);
    p_.server->send(stranger,
                    Abort{{ProblemCode::refused, name, "was not started by this coordinator", "", "Ranks are started by: trainyard-cli run EXPERIMENT"}});
    if (strangers_++ == 0) say("warning", "refused a stranger that called itself " + name, -1);
  }

  void take(const PeerId& from, const Planned& planned) {
    RankSeat* seat = seat_of(from, planned.rank);
    if (seat == nullptr || seat->planned || ended_) return;
    seat->planned = true;
    seat->plan_hash = planned.plan_hash;
    seat->endpoint = planned.endpoint;
    if (planned.plan_hash != plan_hash_) return end(RunState::failed, disagreement("plan", &RankSeat::plan_hash, plan_hash_));
    if (std::all_of(seats_.begin(), seats_.end(), [](const RankSeat& s) { return s.planned; })) start_training();
  }

  void start_training() {
    Start start{{}, plan_hash_};
    for (const RankSeat& seat : seats_) start.endpoints.push_back(seat.endpoint);
    broadcast(start);
    const std::int64_t now = base::now_nanoseconds();
    watch_.start(now);
    set_state(RunState::running);
    steer(now);
  }

  void take(const PeerId& from, const Progress& progress) {
    if (seat_of(from, progress.rank) != nullptr) watch_.heard(progress, base::now_nanoseconds());
  }

  void take(const PeerId& from, const Events& events) {
    if (seat_of(from, events.rank) == nullptr) return;
    if (const auto ok = recording_->append_events(events.rank, events.events); !ok) return cannot_record(ok.error());
    metrics_.clear();
    for (const telemetry::Event& event : events.events) {
      if (event.kind != telemetry::EventKind::metric) continue;
      metrics_.push_back(event);
      if (event.subject == static_cast<std::uint16_t>(telemetry::Metric::step_seconds)) pacer_.step_took(event.value);
    }
    static_cast<void>(history_.take({telemetry::FrameType::events, events.rank, std::as_bytes(std::span(metrics_))}));
  }

  void take(const PeerId& from, const Log& log) {
    if (seat_of(from, log.rank) != nullptr) say(log.level, log.text, log.rank, log.time_ns);
  }

  void take(const PeerId& from, const Failed& failed) {
    RankSeat* seat = seat_of(from, failed.rank);
    if (seat == nullptr) return;
    seat->reported_end = true;
    if (problem_ && failed.problem == *problem_) return;  // it only repeats what it was told
    say("error", base::to_string(failed.problem), failed.rank);
    look_at_processes(base::now_nanoseconds());  // a peer's death is the better explanation
    if (!ended_) end(RunState::failed, failed.problem);
  }

  void take(const PeerId& from, const Finished& finished) {
    RankSeat* seat = seat_of(from, finished.rank);
    if (seat == nullptr) return;
    seat->finished = finished;
    watch_.done(finished.rank);
  }

  // What viewers ask -----------------------------------------------------------------------------------------------

  void take(const PeerId& from, const Ask& ask) {
    std::uint64_t& last = asked_[from];
    if (ask.id > last) {
      last = ask.id;
      carry_out(ask);
    }
    p_.server->send(from, status(ask.id));
  }

  void carry_out(const Ask& ask) {
    if (ask.command == Command::ask || !training()) return;
    switch (ask.command) {
      case Command::pause: pacer_.pause(), set_state(RunState::pausing); break;
      case Command::resume: pacer_.resume(), set_state(RunState::running); break;
      case Command::single_step: pacer_.single_step(), set_state(RunState::pausing); break;
      case Command::stop: stop(); break;
      case Command::set_pace: pacer_.set_pace(ask.seconds_per_step), set_state(state_); break;
      case Command::ask: break;
    }
  }

  void stop() {
    pacer_.stop();
    set_state(RunState::stopping);
  }

  // Messages that have no business here.
  void take(const PeerId&, const Assign&) {}
  void take(const PeerId&, const Start&) {}
  void take(const PeerId&, const Horizon&) {}
  void take(const PeerId&, const Abort&) {}
  void take(const PeerId&, const Status&) {}

  Status status(std::uint64_t answers) const {
    Status status{answers, state_, 0, p_.resolved.steps, pacer_.horizon(), pacer_.seconds_per_step(), {}, problem_, p_.run_directory.string()};
    status.step = p_.resolved.steps;
    for (const RankSeat& seat : seats_) {
      const Progress& last = watch_.last(seat.identity.rank);
      const std::int64_t step = seat.finished ? seat.finished->steps : last.step;
      status.step = std::min(status.step, step);
      status.ranks.push_back({seat.identity.rank, rank_state(seat, last), step, last.op, last.waits_for, seat.process});
    }
    return status;
  }

  std::string rank_state(const RankSeat& seat, const Progress& last) const {
    if (seat.finished) return "finished";
    if (seat.reported_end) return "lost";
    if (state_ == RunState::starting) return "starting";
    if (last.step >= pacer_.horizon() && pacer_.pausing()) return "paused";
    return last.waits_for >= 0 ? "waiting" : "running";
  }

  // Ends -----------------------------------------------------------------------------------------------------------

  void end(RunState state, std::optional<Problem> problem) {
    if (ended_) return;
    ended_ = true;
    problem_ = std::move(problem);
    if (problem_ && state != RunState::cancelled) say("error", base::to_string(*problem_), -1);
    set_state(state);
    if (state != RunState::finished && problem_) broadcast(Abort{*problem_});
    kill_ns_ = base::now_nanoseconds() + (state == RunState::finished ? kEndLimit : kAbortLimit);
  }

  void kill_the_rest() {
    for (RankSeat& seat : seats_)
      if (seat.handle && !seat.handle->ended()) seat.handle->kill();
  }

  Result<CoordinatorResult> close() {
    const std::int64_t now = base::now_nanoseconds();
    if (const auto strange = p_.server->malformed(); strange > 0)
      say("warning", std::to_string(strange) + " control messages were not ours or could not be read; they were dropped", -1);
    record_json(telemetry::FrameType::result, result(now));
    if (const auto ok = recording_->close(); !ok) cannot_record(ok.error());
    if (const auto ok = base::write_file_atomically(p_.run_directory / "result.json", result(now).dump(2) + "\n"); !ok) cannot_record(ok.error());
    std::error_code ignored;
    std::filesystem::remove(p_.run_directory / "control", ignored);
    if (p_.observe) p_.observe(status(0), history_);
    return CoordinatorResult{result(now), state_, problem_};
  }

  Json result(std::int64_t now) const {
    RunFacts facts{state_, problem_, base::seconds(now - p_.started_ns), p_.started_ns, {}, p_.run_directory};
    for (const RankSeat& seat : seats_) facts.finished.push_back(seat.finished);
    facts.finished.resize(static_cast<std::size_t>(p_.resolved.world()));
    return run_result(facts, history_);
  }

  Problem cancelled() const { return {ProblemCode::cancelled, "", "the run was cancelled", "", ""}; }

  Problem not_started() const {
    std::string missing;
    for (const RankSeat& seat : seats_)
      if (!seat.planned) missing += (missing.empty() ? "" : ", ") + seat.name;
    return {ProblemCode::failed, missing, "did not get ready within 60 s", "", "See the logs of these ranks in the run directory."};
  }

  // A table of who has what.
  Problem disagreement(const std::string& of, std::string RankSeat::*value, const std::string& expected) const {
    std::string table = "coordinator " + expected;
    for (const RankSeat& seat : seats_) table += "; " + seat.name + " " + ((seat.*value).empty() ? "(not said yet)" : seat.*value);
    return {ProblemCode::refused, of, "ranks do not agree with the coordinator: " + table, "the same " + of + " everywhere",
            "Install one version of Trainyard for all."};
  }

  Problem different_weights() const {
    std::string table;
    for (const RankSeat& seat : seats_) table += (table.empty() ? "" : "; ") + seat.name + " " + seat.finished->parameters_xxh64;
    return {ProblemCode::failed, "final weights", "ranks ended with different weights: " + table, "bit-identical replicas",
            "This is a fault of the software or the machine: please report it with the run directory."};
  }

  // Recording ------------------------------------------------------------------------------------------------------

  void set_state(RunState state) {
    if (state != state_) say("info", std::string(base::name_of(state)), -1);
    state_ = state;
    Json json{{"state", base::name_of(state)},
              {"time_ns", base::now_nanoseconds()},
              {"step", watch_slowest()},
              {"horizon", pacer_.horizon()},
              {"seconds_per_step", pacer_.seconds_per_step()}};
    if (problem_) json["problem"] = to_json(*problem_);
    record_json(telemetry::FrameType::state, json);
  }

  std::int64_t watch_slowest() const {
    std::int64_t slowest = p_.resolved.steps;
    for (const RankSeat& seat : seats_) slowest = std::min(slowest, watch_.last(seat.identity.rank).step);
    return seats_.empty() ? 0 : slowest;
  }

  // One line of the run's log: in the recording and in run.log.
  void say(const std::string& level, const std::string& text, int rank, std::int64_t time_ns = base::now_nanoseconds()) {
    record_json(telemetry::FrameType::log, {{"level", level}, {"time_ns", time_ns}, {"text", text}}, rank);
    log_ << base::seconds(time_ns - p_.started_ns) << " s  " << (rank < 0 ? "coordinator" : seats_[static_cast<std::size_t>(rank)].name) << "  " << level
         << ": " << text << std::endl;
  }

  void record(telemetry::FrameType type, int rank, std::span<const std::byte> payload) {
    if (type != telemetry::FrameType::header)
      if (const auto ok = recording_->append(type, rank, payload); !ok) return cannot_record(ok.error());
    static_cast<void>(history_.take({type, rank, payload}));
  }

  void record_json(telemetry::FrameType type, const Json& json, int rank = -1) {
    const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    record(type, rank, std::as_bytes(std::span(text)));
  }

  // A full disk ends the run, in order: what was recorded so far stays whole.
  void cannot_record(const Problem& problem) {
    if (recording_failed_) return;
    recording_failed_ = true;
    Problem said = problem;
    said.advice = "Free space, then run again; what was recorded until now can be opened.";
    if (state_ != RunState::finished) return end(RunState::failed, said);
    state_ = RunState::failed;  // trained, but its last words are not on disk
    problem_ = said;
  }

  void broadcast(const Message& message) {
    for (const RankSeat& seat : seats_)
      if (!seat.peer.empty() && !seat.finished) p_.server->send(seat.peer, message);
  }

  CoordinatorParts p_;
  plan::Plan plan_;
  std::string plan_hash_;
  std::optional<telemetry::RecordingWriter> recording_;
  std::ofstream log_;
  telemetry::History history_;  // metrics only: ops go to the recording
  Pacer pacer_;
  Watch watch_;
  std::vector<RankSeat> seats_;
  std::map<PeerId, std::int32_t> peers_;
  std::map<PeerId, std::uint64_t> asked_;
  std::vector<telemetry::Event> metrics_;
  Horizon last_grant_;
  RunState state_ = RunState::starting;
  std::optional<Problem> problem_;
  bool ended_ = false, cancelling_ = false, recording_failed_ = false;
  std::int64_t strangers_ = 0;
  std::int64_t begun_ns_ = 0, flushed_ns_ = 0, observed_ns_ = 0, spoke_ns_ = 0, kill_ns_ = 0;
};

}  // namespace

Result<CoordinatorResult> coordinate(CoordinatorParts parts) { return Coordinator(std::move(parts)).run(); }

}  // namespace trainyard::session

// SPDX-License-Identifier: GPL-3.0-or-later
// Virtual clock for parameter servers on the drawn devices and links. It determines when each
// worker requests parameters, computes and pushes. It also determines when servers take gradients,
// and when they answer under the plan's arrival rule (plan::ArrivalQueue). It handles no parameter
// values; run::ServerReplay can compute them from its events. Deterministic: the same plan, drawing
// and seed give the same events on every machine.
//
// A worker's compute ops take the drawn device's time (rank_model.h) times the factor of its step
// (run::SlowdownModel: slow-down and seeded jitter). A push is sent when the compute ops that it
// depends on are complete. Messages share the drawn links (links.h). A server does one job at a
// time, in order of arrival; if jobs arrive at the same time, the worker with the lower rank comes
// first. When a worker has its batch, it sends the list of table rows that it needs; servers other
// than the first answer only then (run/servers/server_answers.cpp). Not modeled: the server's loop,
// acknowledgments, and gathering rows.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/plan/server_events.h"
#include "core/run/control/slowness.h"
#include "core/run/control/work_assigner.h"
#include "core/run/input/row_counts.h"
#include "core/sim/links.h"
#include "core/sim/rank_model.h"
#include "core/sim/wire.h"
#include "core/telemetry/event.h"

namespace trainyard::sim {

struct ServedClockParts {
  const plan::Plan* plan = nullptr;
  std::shared_ptr<const topology::Network> network;
  std::vector<topology::DeviceId> devices;  // device of each rank
  std::int64_t seed = 0;                    // seed of jitter
  double launch_seconds = 2e-6;             // added to every input and compute op
  std::function<void(int rank, const telemetry::Event&)> on_event =
      {};  // receives op events, whose times are virtual nanoseconds from 0
  // function that returns the number of table rows that a worker pulls; empty: every worker pulls
  // the maximum number of rows
  run::RowCount row_count = {};
  int evaluating_worker = -1;  // worker that makes all evaluations; -1: any
};

class ServerClock final : public plan::ServerEventSource {
 public:
  // Creates the clock for a plan with servers. Fails if there is no route between a worker and a
  // server, and for the same reasons as `simulate`.
  static base::Result<std::unique_ptr<ServerClock>> make(ServedClockParts parts);

  void allow(std::int64_t steps, bool last) override;
  void slow(int rank, double slow_down, double jitter) override;
  base::Result<std::optional<plan::ServerEvent>> next() override;
  bool over() const override { return ended_ && out_.empty(); }

  Picoseconds now() const { return now_; }
  std::int64_t bytes_sent(int from, int to) const;  // payload sent so far
  const Links& links() const { return links_; }

 private:
  // Content of a message. A worker sends a server a request, a gradient, or names (a list of table
  // rows). A server sends a worker parameters or rows.
  enum class PayloadKind : std::uint8_t { request, gradient, names, parameters, rows };
  struct Message {
    PayloadKind carries = PayloadKind::request;
    int worker = 0, server = 0;
    const Path* path = nullptr;
  };
  enum class MomentKind : std::uint8_t { arrives, served, posts };
  struct Moment {
    Picoseconds time = 0;
    MomentKind kind = MomentKind::arrives;
    // Worker and server that the event concerns. An event of kind `served` concerns only a server.
    int worker = 0, server = 0;
    // Number of the object that the event concerns. For arrives: the message; posts: the op.
    int number = 0;
    bool operator>(const Moment& other) const {
      return std::tie(time, kind, worker, server, number) >
             std::tie(other.time, other.kind, other.worker, other.server, other.number);
    }
  };
  struct Worker {
    RankModel model;
    std::unique_ptr<run::SlowdownModel> slowness;
    run::WorkAssignment turn;
    int program = -1;
    // For each server: number of shares of this round's gradient that the server has not received
    // yet.
    std::vector<int> pushes_missing;
    int answers_missing = 0;    // number of servers that have not answered
    bool rows_missing = false;  // the first server still has to send the rows
  };
  struct Job {
    int worker = 0;
    bool joins = false;
  };
  struct Server {
    Server(const plan::ArrivalRule& rule, std::int64_t evaluate_every_steps)
        : arrivals(rule), turns(rule, evaluate_every_steps) {}
    RankModel model;
    std::unique_ptr<run::SlowdownModel> slowness;
    plan::ArrivalQueue arrivals;
    run::WorkAssigner turns;
    std::deque<Job> jobs;  // queue of jobs; if the server is busy, the first job is in progress
    std::optional<plan::ArrivalQueue::Push> push;
    std::int64_t gathered = 0;
    std::vector<std::int64_t> taken;  // by worker: number of gradients that the server has taken
    std::vector<bool> listed;         // by worker: true if its list of rows has arrived
    bool awaits_row_list = false;     // answers a worker only after its list of rows has arrived
    bool busy = false;
  };

  explicit ServerClock(ServedClockParts parts);
  bool may_evaluate(int number) const {
    return parts_.evaluating_worker < 0 || parts_.evaluating_worker == number;
  }
  base::Result<void> open();
  base::Result<const Path*> path(int from, int to);
  bool advance();
  bool is_at_limit() const;
  void handle(const Moment& moment);
  void send(PayloadKind carries, int worker, int server, std::int64_t bytes);
  void arrive(const Message& message);
  void begin_job(int number);
  void end_job(int number);
  void answer(int number);
  void give(int number, int to, const run::WorkAssignment& turn, bool last);
  void name_rows(int number);
  void receive_row_list(int number, int server);
  std::int64_t bytes_of_rows(int number, int server) const;
  std::int64_t rows_of(int number, const OpModel& op) const;
  template <class Visit>
  void for_each_table(int number, int server, Visit visit) const;
  void begin_round(int number);
  void post(int number, int op);
  void end();
  bool wanted(int number, const Job& job) const;
  plan::ServerEvent event(plan::ServerEvent::Kind kind, int number, int to) const;
  void op_event(int rank, int program, int op, std::int64_t step, Picoseconds begin,
                Picoseconds end, std::int64_t bytes);
  Picoseconds evaluation_time(const Worker& who) const;
  Worker& worker(int number) { return workers_[static_cast<std::size_t>(number)]; }
  Server& server(int number) { return *servers_[static_cast<std::size_t>(number)]; }
  int rank_of(int server) const { return static_cast<int>(workers_.size()) + server; }

  ServedClockParts parts_;
  Links links_;
  std::map<std::pair<int, int>, Path> paths_;
  std::vector<Worker> workers_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<Message> messages_;
  std::vector<int> free_;
  std::priority_queue<Moment, std::vector<Moment>, std::greater<>> events_;
  std::deque<plan::ServerEvent> out_;
  std::map<std::pair<int, int>, std::int64_t> sent_;
  Picoseconds now_ = 0;
  std::int64_t allowed_ = 0;
  bool begun_ = false, last_ = false, closing_ = false, ended_ = false;
};

}  // namespace trainyard::sim

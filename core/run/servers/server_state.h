// SPDX-License-Identifier: GPL-3.0-or-later
// State of a parameter server. server.cpp handles messages of workers, server_updates.cpp gradients
// and updates, server_answers.cpp answers, server_rows.cpp table rows, and server_reports.cpp
// reports.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

#include "core/run/control/work_assigner.h"
#include "core/run/meters/memory_meter.h"
#include "core/run/servers/server.h"
#include "core/run/servers/server_share.h"

namespace trainyard::run {

constexpr std::chrono::microseconds kServerWaits{
    2000};  // maximum wait before the abort word and the gate are checked

struct Server::State {
  // State of one worker on this server.
  struct Worker {
    int rank = 0, number = 0;
    std::vector<std::uint64_t> taken, posted,
        handed;  // message counts, by op of "arrival", "answer" and "named"
    std::uint32_t generation = 0;
    bool here = false, asks = false, last_sent = false;
    // `lost`: the worker is lost; `forgotten`: its connection was reset
    bool lost = false, forgotten = false;
    double request = 0;  // wish of a worker that requests parameters outside of program "turn"
    // version slot that the worker is still reading; -1: none
    int reads = -1;
    // true if the server must still send table rows from slot `reads`, after the worker has sent
    // its list of rows
    bool owes_rows = false;
    bool has_list = false;      // true if the worker's list of rows has arrived
    std::int64_t given_ns = 0;  // time of the last answer to the worker
  };
  ServerParts parts;
  plan::ArrivalQueue arrivals;
  ServerShare share;
  MemoryMeter memory;
  const BoundProgram &arrival, &update, &answer;
  const BoundProgram* named;  // program "named"; null: workers transfer full tables
  WorkAssigner turns;
  std::vector<Worker> workers;
  // workers whose gradients wait for the update, in order of arrival; used by synchronous rules
  std::vector<int> held;
  std::vector<std::int64_t> stale;    // staleness of the gradients in the update
  std::vector<std::int64_t> dropped;  // number of dropped gradients, by worker
  // worker and step of each gradient in the update
  std::vector<std::pair<int, std::int64_t>> taken;
  std::vector<const std::byte*> sources;
  int first_asked = 0;        // first worker of the next pass over all workers
  std::int64_t gathered = 0;  // number of gradients taken since the start
  // final step count, received from the first server; used on other servers only
  std::int64_t last_step = 0;
  // number of checkpoint intervals (save_every_steps) up to the last checkpoint
  std::int64_t saved = 0;
  bool leads = false, was_held = false;

  explicit State(ServerParts p)
      : parts(std::move(p)),
        arrivals(*parts.plan->rule),
        share({parts.plan, parts.bound, parts.recipe, parts.divides_by_staleness, parts.compute,
               parts.delay_compensation}),
        memory(parts.events, *parts.bound, parts.is_own_process),
        arrival(share.arrival()),
        update(share.update()),
        answer(share.answer()),
        named(share.named()),
        turns(*parts.plan->rule, parts.evaluate_every_steps, parts.first_step),
        leads(!answer.ops.empty() && answer.ops.front().bucket < 0) {
    const plan::Group& asked =
        (*parts.groups)[static_cast<std::size_t>(arrival.ops.front().channel)];
    const auto counts = [](const BoundProgram* program) {
      return std::vector<std::uint64_t>(program != nullptr ? program->ops.size() : 0);
    };
    for (const std::int32_t rank : asked.ranks)
      if (rank != parts.plan->rank)
        workers.push_back({rank, static_cast<int>(workers.size()), counts(&arrival),
                           counts(&answer), counts(named), parts.generation});
    dropped.resize(workers.size());
    arrivals.resume_from(parts.first_version, parts.first_step);
    last_step = parts.first_step;
    if (parts.save_every_steps > 0) saved = parts.first_step / parts.save_every_steps;
    if (!leads) arrivals.allow(std::numeric_limits<std::int64_t>::max());
  }

  Worker& worker(int number) { return workers[static_cast<std::size_t>(number)]; }

  base::Result<std::int64_t> run();
  bool over() const;
  std::int64_t step_made() const {
    return std::max<std::int64_t>(0, arrivals.steps() - 1);
  }  // last completed step
  base::Result<bool> pass();
  base::Result<bool> receive_from(int number);
  base::Result<bool> poll_messages(int number);
  void mark_lost(int number);
  void take_failed_workers();
  void save();
  base::Result<void> disconnect_lost_workers();
  base::Result<bool> receive_request(int number);
  base::Result<bool> has_full_gradient(const Worker& from);
  base::Result<void> take_gradient(int number);
  base::Result<void> add(int number, bool first);
  base::Result<void> add_held();
  base::Result<void> release(Worker& from);
  base::Result<void> make_update();
  base::Result<int> await_free_slot();
  int find_free_slot() const;
  base::Result<void> update_readers();
  base::Result<bool> give();
  base::Result<bool> send_final_answers();
  base::Result<bool> answer_out_of_turn();
  bool may_evaluate(int number) {
    return !parts.chief_evaluates || worker(number).rank == parts.gate->chief();
  }
  bool expects_gradients() const;
  base::Result<void> give(int number, const WorkAssignment& turn);
  base::Result<bool> consumed(const Worker& by, const BoundProgram& program,
                              const std::vector<std::uint64_t>& posted);
  bool awaits_row_list(const Worker& one) const {
    return named != nullptr && !leads && !one.has_list;
  }
  base::Result<void> poll_row_lists();
  base::Result<bool> has_sent_row_list(const Worker& from);
  base::Result<std::optional<comm::Message>> list_of(const Worker& from, const BoundOp& takes);
  base::Result<bool> receive_row_list(Worker& from);
  base::Result<void> receive_all_row_lists();
  base::Result<void> send_rows(Worker& to, std::size_t op);
  base::Result<std::optional<std::span<const std::byte>>> front(const Worker& from, std::size_t op);
  std::size_t arrival_of(const BoundOp& of_share) const;
  base::Problem full_line(int rank) const;
  std::int64_t step_of(const plan::ArrivalQueue::Push& push) const;
  void report_staleness(int number, const plan::ArrivalQueue::Push& push);
  void report_unapplied();
  void note(plan::ServerEvent::Kind kind, int number,
            const std::function<void(plan::ServerEvent&)>& fill = {});
  void metric(telemetry::Metric metric, double value,
              int index = 0);  // reports under the last completed step
  void metric_of(std::int64_t step, telemetry::Metric metric, double value, int index);
  void report_op(const char* program_name, std::size_t op, std::int64_t begin, std::int64_t bytes);
  void op_event(const char* program_name, std::size_t op, std::int64_t begin, std::int64_t end,
                std::int64_t bytes, std::int64_t imposed_ns = 0);
  void is_at(const char* program_name);
  void wait_idle();
};

}  // namespace trainyard::run

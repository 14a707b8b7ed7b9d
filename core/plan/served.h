// SPDX-License-Identifier: GPL-3.0-or-later
// What servers of parameters did, each in its order: all that a training with servers depends on
// besides its experiment. Who knows it can make every number of the run again
// (run/served_training.h), to the bit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/merged.h"

namespace trainyard::plan {

struct Served {
  enum class Kind : std::uint8_t {
    joins,   // a worker asks for its first parameters
    takes,   // its gradient becomes part of an update, or is dropped
    gives,   // it is given parameters
    leaves,  // it is gone; one that was lost may join again
  };
  Kind kind = Kind::joins;
  bool dropped = false, completes = false;  // takes: it came too late; the update is whole with it
  bool evaluates = false, last = false;     // gives, of the first server: it evaluates by these
                                            // parameters first; there is nothing left to compute
  std::int32_t server = 0, worker = 0;      // each counted from 0
  std::int64_t step = 0;       // gives, of the first server: the step that the worker shall compute
  std::int64_t version = 0;    // takes: that the gradient was computed by; gives: that is given
  std::int64_t staleness = 0;  // takes (arrivals.h)
  std::int64_t done = 0;       // steps of the run that are done, as this server counts them
  std::int64_t time_ns = 0;    // of the clock that the servers went by

  bool operator==(const Served&) const = default;
};

// As bytes of a file or a message, whatever machine reads them (little-endian, 56 an event); what
// cannot be events is a Problem.
void append(const Served& event, std::string& bytes);
base::Result<std::vector<Served>> served_of(std::span<const std::byte> bytes);

// Where they come from: a clock that makes them, or a run that wrote them down. Those of one server
// in its order; a gradient is taken after all servers have given what it was computed by; a worker
// that was lost joins again once all servers have seen it leave.
class ServedOrder {
 public:
  virtual ~ServedOrder() = default;

  // How far it may go, in steps; `last`: no further, ever. Only grows.
  virtual void allow(std::int64_t steps, bool last) = 0;
  // From now on this rank computes so many times slower, and each step up to the fraction `jitter`
  // slower still.
  virtual void slow(int rank, double slow_down, double jitter) = 0;
  // The next; nothing where it may go no further, or is over.
  virtual base::Result<std::optional<Served>> next() = 0;
  virtual bool over() const = 0;
};

// What servers wrote down, each for itself, in one order that all of them can have gone by.
class RecordedOrder final : public ServedOrder {
 public:
  // By server. A Problem names an event of a server or worker that there is not.
  static base::Result<RecordedOrder> make(std::vector<std::vector<Served>> servers, int workers);

  void allow(std::int64_t, bool) override {}  // it is over where it was over
  void slow(int, double, double) override {}
  base::Result<std::optional<Served>> next() override;
  bool over() const override;

 private:
  bool possible(const Served& event) const;
  void count(const Served& event);

  Merged<Served> servers_;
  // A worker and a server, so far. Who was lost before it joined leaves all the same, so that
  // leaves count who was in its place.
  struct Between {
    std::int64_t left = 0, given = 0, taken = 0;  // given and taken: since the last one left
  };
  std::vector<std::vector<Between>> between_;  // by worker and server
};

}  // namespace trainyard::plan

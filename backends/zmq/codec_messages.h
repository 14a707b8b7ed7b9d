// SPDX-License-Identifier: GPL-3.0-or-later
// Fields of each message body, in order. A change here requires a new `kControlVersion`.
#pragma once

#include "backends/zmq/codec_archive.h"
#include "core/session/protocol/messages.h"

namespace trainyard::zmq {

template <class Archive>
void serialize(Archive& ar, base::Problem& x) {
  in_range(ar, x.code, base::ProblemCode::canceled);
  ar(x.id, x.where, x.what, x.accepted, x.advice);
}

template <class Archive>
void serialize(Archive& ar, session::Hello& x) {
  ar(x.rank, x.token, x.software, x.process);
}

template <class Archive>
void serialize(Archive& ar, session::Assign& x) {
  ar(x.resolved, x.generation, x.run_key, x.run_directory);
}

template <class Archive>
void serialize(Archive& ar, session::Planned& x) {
  ar(x.rank, x.plan_hash, x.endpoint);
}

template <class Archive>
void serialize(Archive& ar, session::Start& x) {
  ar(x.endpoints, x.plan_hash);
}

template <class Archive>
void serialize(Archive& ar, session::Horizon& x) {
  ar(x.step, x.last, x.single, x.chief);
}

template <class Archive>
void serialize(Archive& ar, session::Progress& x) {
  ar(x.rank, x.step, x.ops_done, x.op, x.waits_for);
}

template <class Archive>
void serialize(Archive& ar, session::Events& x) {
  ar(x.rank, x.dropped, x.events);
}

template <class Archive>
void serialize(Archive& ar, session::Order& x) {
  ar(x.rank, x.events);
}

template <class Archive>
void serialize(Archive& ar, session::Gone& x) {
  ar(x.rank, x.generation);
}

template <class Archive>
void serialize(Archive& ar, session::Saved& x) {
  ar(x.rank, x.step, x.state, x.file, x.xxh64, x.bytes, x.version, x.problem);
}

template <class Archive>
void serialize(Archive& ar, session::SavedPiece& x) {
  ar(x.rank, x.file, x.offset, x.bytes);
}

template <class Archive>
void serialize(Archive& ar, session::PieceReceived& x) {
  ar(x.rank, x.file, x.bytes);
}

template <class Archive>
void serialize(Archive& ar, session::Committed& x) {
  ar(x.step, x.last);
}

template <class Archive>
void serialize(Archive& ar, session::Samples& x) {
  ar(x.rank, x.values);
}

template <class Archive>
void serialize(Archive& ar, session::Log& x) {
  ar(x.rank, x.time_ns, x.level, x.text);
}

template <class Archive>
void serialize(Archive& ar, session::Failed& x) {
  ar(x.rank, x.step, x.op, x.problem);
}

template <class Archive>
void serialize(Archive& ar, session::RankTraffic& x) {
  ar(x.sent_payload_bytes, x.sent_header_bytes, x.received_payload_bytes, x.received_header_bytes);
}

template <class Archive>
void serialize(Archive& ar, session::Finished& x) {
  ar(x.rank, x.steps, x.parameters_xxh64, x.peak_memory_bytes, x.first_step_done_ns, x.peers);
}

template <class Archive>
void serialize(Archive& ar, session::Abort& x) {
  ar(x.reason);
}

template <class Archive>
void serialize(Archive& ar, session::Slow& x) {
  ar(x.rank, x.slow_down, x.jitter);
}

template <class Archive>
void serialize(Archive& ar, session::LinkBandwidth& x) {
  ar(x.link, x.part);
}

template <class Archive>
void serialize(Archive& ar, session::Ask& x) {
  ar(x.id);
  in_range(ar, x.command, session::Command::link);
  ar(x.seconds_per_step, x.slow, x.rank, x.link);
}

template <class Archive>
void serialize(Archive& ar, session::RankStatus& x) {
  ar(x.rank, x.state, x.step, x.op, x.waits_for, x.process, x.slow_down, x.jitter);
}

template <class Archive>
void serialize(Archive& ar, session::Status& x) {
  ar(x.answers);
  in_range(ar, x.state, session::RunState::canceled);
  ar(x.step, x.steps, x.horizon, x.seconds_per_step, x.ranks, x.problem, x.run_directory, x.links);
}

}  // namespace trainyard::zmq

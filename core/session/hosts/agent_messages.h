// SPDX-License-Identifier: GPL-3.0-or-later
// Messages between the coordinator and the agent of a remote host, as JSON documents on channel 0
// of a FrameStream: {"type": NAME, and the fields of the message}. Channel 1 carries rank_log,
// channel 2 the bytes of requested files, and each further channel the frames of one connection of
// a rank.
//
//   agent                        coordinator
//   hello            -->                       what the host is and has
//                    <--         prepare       refused: another version of the software
//   file_request     -->                       for each file that the host's cache lacks
//   (bytes of the file, from the requested offset to its end)
//   prepared         -->
//                    <--         start_rank    once per rank
//   rank_started     -->
//   channel          -->                       a rank connected: its frames use this channel
//   (frames of control messages in both directions)
//                    <--         signal_rank
//   rank_log         -->
//   rank_ended       -->
//                    <--         time_request  at any time after hello
//   time_answer      -->
//                    <--         probe_listen  at any time after hello, for preflight
//   probe_listening  -->
//                    <--         probe_peer    on another host: connects to that listener
//   probe_result     -->
//                    <--         bytes_arrived while frames arrive
//   refused          -->                       a request could not be carried out
//
// The agent ends, and kills its ranks, when the stream closes.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/field_table.h"
#include "core/base/result.h"
#include "core/session/system/shared_file.h"

namespace trainyard::session {

inline constexpr std::int32_t kAgentProtocol = 1;
inline constexpr std::uint32_t kCommandChannel = 0, kLogChannel = 1, kFileChannel = 2;

struct AgentHello {
  std::int32_t protocol = kAgentProtocol;
  std::string software{};      // version of the agent and of the ranks that it starts
  std::string hash{};          // of the contents of both and of their libraries; empty: unknown
  std::string host{}, user{};  // names on that host
  std::string architecture{};  // as `uname -m`
  std::int64_t cores = 1, memory_bytes = 0;
  std::int64_t gpus = 0;                  // NVIDIA GPUs with a loaded driver
  std::int64_t free_disk_bytes = -1;      // of the disk of the file cache; -1: unknown
  std::string cpu{};                      // model name
  std::int32_t cpu_level = 0;             // as base::cpu_level
  std::vector<std::string> addresses{};   // of all network interfaces except loopback
  std::vector<std::string> interfaces{};  // name of the interface of each address
  // Addresses of this host and of the coordinator's host by which ssh connected them; empty if the
  // agent was not started by ssh.
  std::string reached_at{}, reached_from{};
};

// Values that all ranks of the host share.
struct PrepareRun {
  std::string run{};       // name of the run
  std::string software{};  // version of the coordinator
  std::int32_t ranks = 1;  // ranks on this host
  std::vector<std::int64_t>
      shared_bytes{};                      // arena of each rank of the run; empty: no shared memory
  std::int32_t channels = 1;               // groups of the plan
  std::int32_t cpu_level = 0;              // limit of the ranks' instructions; 0: none
  std::vector<std::string> kernels{};      // as kernel_settings of the coordinator
  std::string address{};                   // address at which ranks listen for peers
  std::string public_key{}, secret_key{};  // keys of the run's data plane; empty: not encrypted
  std::vector<SharedFile> files{};         // files that the ranks read
};

struct FileRequest {
  std::string hash{};
  std::int64_t offset = 0;  // first byte that the agent lacks
};

struct RunPrepared {
  bool shares_memory = false;
  std::string files{};  // directory on this host that has the files of the run
};

struct StartRank {
  std::int32_t rank = 0;
  std::string token{};
  std::int64_t cores = 1;       // of the drawn device
  std::int32_t local_rank = 0;  // among the ranks of the host
  std::int32_t world = 1;       // ranks of the run
};

struct RankStarted {
  std::int32_t rank = 0;
  std::int64_t process = 0;
};

struct OpenChannel {
  std::int64_t channel = 1;
  std::string peer{};  // routing id of the rank's connection
};

enum class RankSignal : std::uint8_t { kill, suspend, resume };

struct SignalRank {
  std::int32_t rank = 0;
  RankSignal signal = RankSignal::kill;
  std::int64_t process = 0;  // ignored unless this is still the rank's process
};

struct RankLog {
  std::int32_t rank = 0;
  std::string text{};  // lines that the process printed
};

struct RankEnded {
  std::int32_t rank = 0;
  std::string how{};  // for example "exit status 3"
  bool killed = false;
};

struct TimeRequest {
  std::int64_t sent_ns = 0;  // clock of the coordinator
};

struct TimeAnswer {
  std::int64_t sent_ns = 0;   // as requested
  std::int64_t agent_ns = 0;  // clock of the agent when it answered
  std::int64_t wall_ns = 0;   // its CLOCK_REALTIME then, since 1970
};

// Sent by the coordinator while frames arrive, so that the agent knows what is on the way.
struct BytesArrived {
  std::int64_t bytes = 0;  // of all frames so far
};

// Requests of preflight (probe.h). `id` numbers the requests of a coordinator.
struct ProbeListenRequest {
  std::int64_t id = 0;
  std::string address{};  // of the agent's host
  std::string token{};
};

struct ProbeListening {
  std::int64_t id = 0;
  std::int32_t port = 0;
};

struct ProbeRequest {
  std::int64_t id = 0;
  std::string address{};  // of the listener
  std::int32_t port = 0;
  std::string token{};
};

// Answers either request; a problem if `problem` is not empty.
struct ProbeResult {
  std::int64_t id = 0;
  double latency_seconds = 0, bandwidth_bits_per_second = 0;
  std::string problem{}, where{}, what{}, accepted{}, advice{};  // as in base::Problem
};

struct RequestRefused {
  std::int32_t rank = -1;  // rank of the request; -1: all
  std::string id{}, what{}, accepted{}, advice{};
};

using AgentMessage =
    std::variant<AgentHello, PrepareRun, FileRequest, RunPrepared, StartRank, RankStarted,
                 OpenChannel, SignalRank, RankLog, RankEnded, TimeRequest, TimeAnswer, BytesArrived,
                 ProbeListenRequest, ProbeListening, ProbeRequest, ProbeResult, RequestRefused>;

std::string to_text(const AgentMessage& message);
// Returns a Problem for anything but the text of a message, whose `where` is `peer`.
base::Result<AgentMessage> agent_message_from(const std::string& text, const std::string& peer);

}  // namespace trainyard::session

template <>
struct trainyard::base::Names<trainyard::session::RankSignal> {
  using S = trainyard::session::RankSignal;
  static constexpr std::pair<S, std::string_view> table[]{
      {S::kill, "kill"}, {S::suspend, "suspend"}, {S::resume, "resume"}};
};

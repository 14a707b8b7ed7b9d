// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/agent_messages.h"

#include "core/session/hosts/message_text.h"

namespace trainyard::base {

namespace {

using namespace trainyard::session;

constexpr Range kName{0, 1000}, kRank{-1, 1e6}, kCount{0, 9e18};

}  // namespace

template <>
struct Fields<AgentHello> {
  using A = AgentHello;
  static constexpr std::string_view title = "hello";
  static auto table() {
    return std::tuple{
        field("protocol", &A::protocol, "", {1, 1e6}, "Version of these messages"),
        field("software", &A::software, "", kName, "Version of the agent"),
        field("hash", &A::hash, "", kName, "Hash of the agent's programs"),
        field("host", &A::host, "", kName, "Name of the host"),
        field("user", &A::user, "", kName, "Name of the user"),
        field("architecture", &A::architecture, "", kName, "Architecture"),
        field("cores", &A::cores, "cores", {1, 1e6}, "Usable cores"),
        field("memory_bytes", &A::memory_bytes, "bytes", kCount, "Memory"),
        field("gpus", &A::gpus, "", {0, 1e6}, "NVIDIA GPUs"),
        field("free_disk_bytes", &A::free_disk_bytes, "bytes", {-1, 9e18},
              "Free space of the disk of the file cache"),
        field("cpu", &A::cpu, "", kName, "Model of the CPU"),
        field("cpu_level", &A::cpu_level, "", {0, 9}, "x86-64 level of the CPU"),
        field("addresses", &A::addresses, "", {0, 1000}, "Addresses of the network interfaces"),
        field("interfaces", &A::interfaces, "", {0, 1000}, "Interface of each address"),
        field("reached_at", &A::reached_at, "", kName, "Address to which ssh connected"),
        field("reached_from", &A::reached_from, "", kName, "Address from which ssh connected")};
  }
};

template <>
struct Fields<SharedFile> {
  static constexpr std::string_view title = "file";
  static auto table() {
    return std::tuple{
        field("path", &SharedFile::path, "", {1, 4096}, "Path below the directory of the files"),
        field("hash", &SharedFile::hash, "", {32, 32}, "Hash of the content"),
        field("bytes", &SharedFile::bytes, "bytes", kCount, "Size")};
  }
};

template <>
struct Fields<PrepareRun> {
  using P = PrepareRun;
  static constexpr std::string_view title = "prepare";
  static auto table() {
    return std::tuple{
        field("run", &P::run, "", kName, "Name of the run"),
        field("software", &P::software, "", kName, "Version of the coordinator"),
        field("ranks", &P::ranks, "ranks", {1, 10'000}, "Ranks on this host"),
        field("shared_bytes", &P::shared_bytes, "bytes", {0, 10'000}, "Shared arena of each rank"),
        field("channels", &P::channels, "", {1, 1e6}, "Groups of the plan"),
        field("cpu_level", &P::cpu_level, "", {0, 9}, "Limit of the ranks' x86-64 level"),
        field("kernels", &P::kernels, "", {0, 100}, "Settings of OpenBLAS and oneDNN"),
        field("address", &P::address, "", kName, "Address at which ranks listen"),
        field("public_key", &P::public_key, "", {0, 40}, "Public key of the run"),
        field("secret_key", &P::secret_key, "", {0, 40}, "Secret key of the run"),
        field("files", &P::files, "", {0, 10'000}, "Files that the ranks read")};
  }
};

template <>
struct Fields<FileRequest> {
  static constexpr std::string_view title = "file_request";
  static auto table() {
    return std::tuple{
        field("hash", &FileRequest::hash, "", kName, "Hash of the file"),
        field("offset", &FileRequest::offset, "bytes", kCount, "First byte that the agent lacks")};
  }
};

template <>
struct Fields<RunPrepared> {
  static constexpr std::string_view title = "prepared";
  static auto table() {
    return std::tuple{field("shares_memory", &RunPrepared::shares_memory, "", {},
                            "True if the ranks share memory"),
                      field("files", &RunPrepared::files, "", {0, 4096},
                            "Directory that has the files of the run")};
  }
};

template <>
struct Fields<StartRank> {
  static constexpr std::string_view title = "start_rank";
  static auto table() {
    return std::tuple{
        field("rank", &StartRank::rank, "", kRank, "Rank"),
        field("token", &StartRank::token, "", kName, "Token of the rank's first message"),
        field("cores", &StartRank::cores, "cores", {1, 1e6}, "Cores of the drawn device"),
        field("local_rank", &StartRank::local_rank, "", {0, 1e6}, "Rank among those of the host"),
        field("world", &StartRank::world, "ranks", {1, 1e6}, "Ranks of the run")};
  }
};

template <>
struct Fields<RankStarted> {
  static constexpr std::string_view title = "rank_started";
  static auto table() {
    return std::tuple{field("rank", &RankStarted::rank, "", kRank, "Rank"),
                      field("process", &RankStarted::process, "", kCount, "Process id")};
  }
};

template <>
struct Fields<OpenChannel> {
  static constexpr std::string_view title = "channel";
  static auto table() {
    return std::tuple{
        field("channel", &OpenChannel::channel, "", {1, 4e9}, "Number of the channel"),
        field("peer", &OpenChannel::peer, "", {1, 255}, "Connection whose frames it carries")};
  }
};

template <>
struct Fields<SignalRank> {
  static constexpr std::string_view title = "signal_rank";
  static auto table() {
    return std::tuple{field("rank", &SignalRank::rank, "", kRank, "Rank"),
                      field("signal", &SignalRank::signal, "", {}, "What happens to its process"),
                      field("process", &SignalRank::process, "", kCount, "Process id")};
  }
};

template <>
struct Fields<RankLog> {
  static constexpr std::string_view title = "rank_log";
  static auto table() {
    return std::tuple{
        field("rank", &RankLog::rank, "", kRank, "Rank"),
        field("text", &RankLog::text, "", {0, 1 << 20}, "Lines that the process printed")};
  }
};

template <>
struct Fields<RankEnded> {
  static constexpr std::string_view title = "rank_ended";
  static auto table() {
    return std::tuple{field("rank", &RankEnded::rank, "", kRank, "Rank"),
                      field("how", &RankEnded::how, "", kName, "How the process ended"),
                      field("killed", &RankEnded::killed, "", {}, "True if a signal ended it")};
  }
};

template <>
struct Fields<TimeRequest> {
  static constexpr std::string_view title = "time_request";
  static auto table() {
    return std::tuple{field("sent_ns", &TimeRequest::sent_ns, "ns", kCount, "Time of the request")};
  }
};

template <>
struct Fields<BytesArrived> {
  static constexpr std::string_view title = "bytes_arrived";
  static auto table() {
    return std::tuple{field("bytes", &BytesArrived::bytes, "bytes", kCount, "Bytes of all frames")};
  }
};

template <>
struct Fields<TimeAnswer> {
  static constexpr std::string_view title = "time_answer";
  static auto table() {
    return std::tuple{
        field("sent_ns", &TimeAnswer::sent_ns, "ns", kCount, "Time of the request"),
        field("agent_ns", &TimeAnswer::agent_ns, "ns", kCount, "Time of the answer"),
        field("wall_ns", &TimeAnswer::wall_ns, "ns", kCount, "Time of the answer since 1970")};
  }
};

template <>
struct Fields<ProbeListenRequest> {
  using P = ProbeListenRequest;
  static constexpr std::string_view title = "probe_listen";
  static auto table() {
    return std::tuple{field("id", &P::id, "", kCount, "Number of the request"),
                      field("address", &P::address, "", kName, "Address to listen at"),
                      field("token", &P::token, "", kName, "First bytes of the probe")};
  }
};

template <>
struct Fields<ProbeListening> {
  static constexpr std::string_view title = "probe_listening";
  static auto table() {
    return std::tuple{
        field("id", &ProbeListening::id, "", kCount, "Number of the request"),
        field("port", &ProbeListening::port, "", {1, 65'535}, "Port of the listener")};
  }
};

template <>
struct Fields<ProbeRequest> {
  using P = ProbeRequest;
  static constexpr std::string_view title = "probe_peer";
  static auto table() {
    return std::tuple{field("id", &P::id, "", kCount, "Number of the request"),
                      field("address", &P::address, "", kName, "Address of the listener"),
                      field("port", &P::port, "", {1, 65'535}, "Port of the listener"),
                      field("token", &P::token, "", kName, "First bytes of the probe")};
  }
};

template <>
struct Fields<ProbeResult> {
  using P = ProbeResult;
  static constexpr std::string_view title = "probe_result";
  static auto table() {
    return std::tuple{
        field("id", &P::id, "", kCount, "Number of the request"),
        field("latency_seconds", &P::latency_seconds, "s", {0, 1e6}, "Half a round trip"),
        field("bandwidth_bits_per_second", &P::bandwidth_bits_per_second, "bit/s", {0, 1e18},
              "Bandwidth of one connection"),
        field("problem", &P::problem, "", kName, "Id of the problem"),
        field("where", &P::where, "", kName, "Place of the problem"),
        field("what", &P::what, "", {0, 10'000}, "What is wrong"),
        field("accepted", &P::accepted, "", {0, 10'000}, "What is accepted"),
        field("advice", &P::advice, "", {0, 10'000}, "What to do")};
  }
};

template <>
struct Fields<RequestRefused> {
  using R = RequestRefused;
  static constexpr std::string_view title = "refused";
  static auto table() {
    return std::tuple{field("rank", &R::rank, "", kRank, "Rank of the request; -1: all"),
                      field("id", &R::id, "", kName, "Id of the problem"),
                      field("what", &R::what, "", {0, 10'000}, "What is wrong"),
                      field("accepted", &R::accepted, "", {0, 10'000}, "What is accepted"),
                      field("advice", &R::advice, "", {0, 10'000}, "What to do")};
  }
};

}  // namespace trainyard::base

namespace trainyard::session {

std::string to_text(const AgentMessage& message) { return text_of_message(message); }

base::Result<AgentMessage> agent_message_from(const std::string& text, const std::string& peer) {
  return message_from_text<AgentMessage>(text, peer);
}

}  // namespace trainyard::session

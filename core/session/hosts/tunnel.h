// SPDX-License-Identifier: GPL-3.0-or-later
// One end of a session between a coordinator and the agent of a joined machine: passes bytes
// between local descriptors and frames. An end sends at most kWindow bytes beyond those that the
// other end has written out (credit), so that a slow end bounds the memory of both. Used by one
// thread.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "core/base/descriptor.h"
#include "core/session/hosts/join_messages.h"

namespace trainyard::session {

class Tunnel {
 public:
  static constexpr std::size_t kWindow = std::size_t{256} << 10, kMaxData = std::size_t{32} << 10;

  // Makes both descriptors nonblocking. They may refer to the same socket.
  Tunnel(std::uint32_t session, base::Descriptor input, base::Descriptor output);

  // Appends what to wait for.
  void wait_for(std::vector<pollfd>& items) const;
  // Reads and writes as much as possible without waiting. Returns the frames to send.
  std::vector<JoinFrame> move();
  // Takes a frame of the other end. Aborts the session if it does not continue the previous ones.
  void take(const JoinFrame& frame);
  // Ends the session without the other end.
  void abort();
  // True after both ends closed the session, and all bytes were written.
  bool is_over() const { return closed_ && !output_.is_open(); }

 private:
  void read(std::vector<JoinFrame>& frames);
  void write(std::vector<JoinFrame>& frames);
  void close_output();

  std::uint32_t session_;
  base::Descriptor input_, output_;
  std::string pending_;                          // received, and not written yet
  std::size_t written_ = 0;                      // of `pending_`
  std::uint64_t sent_ = 0, granted_ = kWindow;   // offsets of the direction to the other end
  std::uint64_t received_ = 0, uncredited_ = 0;  // of the direction from it
  bool closed_ = false;                          // this end sent `close`
  bool peer_closed_ = false;
};

}  // namespace trainyard::session

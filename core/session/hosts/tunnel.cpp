// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/tunnel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace trainyard::session {
Tunnel::Tunnel(std::uint32_t session, base::Descriptor input, base::Descriptor output)
    : session_(session), input_(std::move(input)), output_(std::move(output)) {
  base::make_nonblocking(input_.get());
  base::make_nonblocking(output_.get());
}

void Tunnel::wait_for(std::vector<pollfd>& items) const {
  if (input_.is_open() && sent_ < granted_) items.push_back({input_.get(), POLLIN, 0});
  if (output_.is_open() && written_ < pending_.size()) items.push_back({output_.get(), POLLOUT, 0});
}

std::vector<JoinFrame> Tunnel::move() {
  std::vector<JoinFrame> frames;
  write(frames);
  read(frames);
  return frames;
}

void Tunnel::read(std::vector<JoinFrame>& frames) {
  while (input_.is_open() && sent_ < granted_) {
    std::string bytes(std::min<std::uint64_t>(kMaxData, granted_ - sent_), '\0');
    const ssize_t got = ::read(input_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      input_.close();
      break;
    }
    bytes.resize(static_cast<std::size_t>(got));
    frames.push_back({JoinFrameKind::data, session_, sent_, std::move(bytes)});
    sent_ += static_cast<std::uint64_t>(got);
  }
  if (!input_.is_open() && !std::exchange(closed_, true))
    frames.push_back({JoinFrameKind::close, session_});
}

void Tunnel::write(std::vector<JoinFrame>& frames) {
  while (output_.is_open() && written_ < pending_.size()) {
    const ssize_t put =
        ::write(output_.get(), pending_.data() + written_, pending_.size() - written_);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) break;
    if (put < 0) {  // nothing reads any more
      abort();
      return;
    }
    written_ += static_cast<std::size_t>(put);
    uncredited_ += static_cast<std::uint64_t>(put);
  }
  if (written_ == pending_.size()) pending_.clear(), written_ = 0;
  if (uncredited_ >= kWindow / 4 || (uncredited_ > 0 && pending_.empty())) {
    frames.push_back({JoinFrameKind::credit, session_, std::exchange(uncredited_, 0)});
  }
  if (peer_closed_ && pending_.empty()) close_output();
}

void Tunnel::take(const JoinFrame& frame) {
  switch (frame.kind) {
    case JoinFrameKind::data:
      if (!output_.is_open()) return;
      if (frame.offset != received_ || pending_.size() - written_ + frame.bytes.size() > kWindow)
        return abort();
      received_ += frame.bytes.size();
      pending_ += frame.bytes;
      return;
    case JoinFrameKind::credit:
      if (frame.offset > sent_ + kWindow - granted_) return abort();
      granted_ += frame.offset;
      return;
    case JoinFrameKind::close: peer_closed_ = true; return;
    default: return abort();
  }
}

void Tunnel::abort() {
  pending_.clear();
  written_ = 0;
  input_.close();
  close_output();
}

void Tunnel::close_output() {
  if (!output_.is_open()) return;
  ::shutdown(output_.get(), SHUT_WR);  // the input may be the same socket
  output_.close();
}

}  // namespace trainyard::session

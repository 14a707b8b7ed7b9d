// SPDX-License-Identifier: GPL-3.0-or-later
// A directory of our own for sockets, gone with the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace trainyard::zmq {

class SocketDirectory {
 public:
  SocketDirectory() {
    std::string name = "/tmp/trainyard-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~SocketDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  SocketDirectory(const SocketDirectory&) = delete;
  SocketDirectory& operator=(const SocketDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string endpoint() const { return "ipc://" + (path_ / "control").string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace trainyard::zmq

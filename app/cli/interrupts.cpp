// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/interrupts.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <initializer_list>

namespace trainyard::cli {
namespace {

volatile std::sig_atomic_t counted = 0;

// Texts of ExitOnInterrupt. Written while `exits` is 0, because a signal handler reads them.
struct LastText {
  std::array<char, 1024> bytes{};
  std::size_t size = 0;
  void set(const std::string& text) {
    size = std::min(text.size(), bytes.size());
    std::copy_n(text.begin(), size, bytes.begin());
  }
  void write(int descriptor) const {
    [[maybe_unused]] const auto written = ::write(descriptor, bytes.data(), size);
  }
};
LastText last_error, last_output;
volatile std::sig_atomic_t exits = 0;

void count_interrupt(int) {
  if (exits != 0) {
    last_error.write(STDERR_FILENO);
    last_output.write(STDOUT_FILENO);
    ::_exit(130);
  }
  counted = counted + 1;
}

volatile std::sig_atomic_t suspension_requested = 0;
void request_suspension(int) { suspension_requested = 1; }

void handle_suspension() {
  struct sigaction action {};
  action.sa_handler = request_suspension;
  ::sigaction(SIGTSTP, &action, nullptr);
}

bool take_suspension_request() {
  if (suspension_requested == 0) return false;
  suspension_requested = 0;
  return true;
}

// Stops with SIGTSTP instead of SIGSTOP: the kernel ignores SIGTSTP if no shell is left that could
// continue the process (an orphaned process group).
void suspend_process() {
  ::signal(SIGTSTP, SIG_DFL);
  ::raise(SIGTSTP);
  handle_suspension();
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = count_interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
}

int interrupts() { return counted; }

ExitOnInterrupt::ExitOnInterrupt(const std::string& error, const std::string& output) {
  last_error.set(error);
  last_output.set(output);
  exits = 1;
}

ExitOnInterrupt::~ExitOnInterrupt() { exits = 0; }

session::JobControl catch_suspension() {
  handle_suspension();
  return {take_suspension_request, suspend_process};
}

bool end_with(std::int64_t process) {
  return ::prctl(PR_SET_PDEATHSIG, SIGINT) == 0 && ::getppid() == process;
}

}  // namespace trainyard::cli

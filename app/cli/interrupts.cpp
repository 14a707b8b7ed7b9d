// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/interrupts.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace trainyard::cli {
namespace {

volatile std::sig_atomic_t counted = 0;
void count_interrupt(int) { counted = counted + 1; }

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = count_interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
}

int interrupts() { return counted; }

bool end_with(std::int64_t process) {
  return ::prctl(PR_SET_PDEATHSIG, SIGINT) == 0 && ::getppid() == process;
}

}  // namespace trainyard::cli

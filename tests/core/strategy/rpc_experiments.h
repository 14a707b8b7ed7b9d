// SPDX-License-Identifier: GPL-3.0-or-later
// Experiments of trainers that call layers on parameter servers, for tests.
#pragma once

#include "tests/core/strategy/experiments.h"

namespace trainyard::strategy {

// Devices in turn, as long as there are both: a server, then a trainer.
inline topology::Topology drawn_callers(int trainers, int servers) {
  topology::Topology drawing = tests::drawn_hosts(1, trainers + servers);
  for (int d = 0, left = servers, others = trainers; d < trainers + servers; ++d) {
    const bool serves = left > 0 && (d % 2 == 0 || others == 0);
    if (serves)
      drawing.hosts[0].devices[static_cast<std::size_t>(d)].role = topology::Role::parameter_server;
    serves ? --left : --others;
  }
  return drawing;
}

inline experiment::Experiment called(
    experiment::Experiment e, int trainers, int servers,
    experiment::RemoteLayers remote = experiment::RemoteLayers::all,
    experiment::RemoteOutput output = experiment::RemoteOutput::value) {
  e.topology = drawn_callers(trainers, servers);
  e.strategy.kind = experiment::StrategyKind::rpc;
  e.strategy.rpc = {remote, output};
  return e;
}

}  // namespace trainyard::strategy

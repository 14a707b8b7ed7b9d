// SPDX-License-Identifier: GPL-3.0-or-later
// Error of the simulator against published throughputs of pipelines, and against the published
// scaling of replicas. One constant of the machines is fitted at one number of devices or for one
// model; the other figures are predictions.
#include <cstdio>

#include "tests/published_scaling.h"

namespace {

using namespace trainyard::tests;

void print(const Figure& figure) {
  const double fitted = fit(figure);
  std::printf(
      "%s\n  %s\n  fitted at %d devices%s: %s = %.3g\n", figure.name.c_str(), figure.inputs.c_str(),
      figure.points[figure.fit].devices,
      (figure.points[figure.fit].model.empty() ? "" : ", " + figure.points[figure.fit].model)
          .c_str(),
      figure.free_name.c_str(), fitted);
  for (std::size_t i = 0; i < figure.points.size(); ++i) {
    const Point& point = figure.points[i];
    const double simulated = point.simulated(figure.with(fitted));
    std::printf("  %d devices%s  simulated %.3f  published %.3f  %+.1f %%%s\n", point.devices,
                (point.model.empty() ? "" : ", " + point.model).c_str(), simulated, point.published,
                100 * (simulated / point.published - 1), i == figure.fit ? "  (fitted)" : "");
  }
}

}  // namespace

int main() {
  std::vector<Figure> all = figures();
  all.push_back(horovod_512());
  for (const Figure& figure : all) {
    print(figure);
    std::fflush(stdout);
  }
  return 0;
}

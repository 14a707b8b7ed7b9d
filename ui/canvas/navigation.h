// SPDX-License-Identifier: GPL-3.0-or-later
// Going over a drawing with the keyboard.
#pragma once

#include <vector>

#include "ui/canvas/layout.h"

namespace trainyard::ui {

// Each host with its devices, then switches, then links: the order of Tab, of Home and End, and of
// a screen reader.
std::vector<Part> reading_order(const Layout& layout);
// `by` further in that order, around its ends; from nothing: the first, or the last.
Part next_part(const Layout& layout, const Part& from, int by);
// The nearest in a direction (a unit vector), with things straight ahead preferred; `from` itself
// when there is none.
Part nearest_part(const Layout& layout, const Part& from, QPointF direction);
// "gpu1: emulated gpu, rank 3, on host2. 1 core, 4 GB." For screen readers and the status bar.
// `emulated`: of a device, whether its tile is marked so; `imposed`: what else it is marked with,
// and `holding`: what its rank has of the model, said after it.
QString describe(const topology::Topology& topology, const Part& part, bool emulated,
                 const QStringList& imposed = {}, const QString& holding = {});

}  // namespace trainyard::ui

// SPDX-License-Identifier: GPL-3.0-or-later
// Shared crosshair of several charts: the x value under the pointer on any of them. The charts of a
// group share the choice of x axis.
#pragma once

#include <QObject>
#include <optional>

namespace trainyard::ui {

class CrosshairGroup : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;
  std::optional<double> x() const { return x_; }
  void set_x(std::optional<double> x) {
    if (x == x_) return;
    x_ = x;
    emit moved();
  }

 signals:
  void moved();

 private:
  std::optional<double> x_;
};

}  // namespace trainyard::ui

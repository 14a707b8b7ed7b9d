// SPDX-License-Identifier: GPL-3.0-or-later
// QR code (ISO/IEC 18004), dark on white in both themes, because many scanners do not read inverted
// codes. A margin of four light modules surrounds it, as the standard requires.
#pragma once

#include <QWidget>
#include <string>
#include <vector>

namespace trainyard::ui {

class QrCodeView : public QWidget {
  Q_OBJECT
 public:
  explicit QrCodeView(QWidget* parent = nullptr);

  // Sets the modules, row by row: '1' is dark. All rows have as many modules as there are rows;
  // otherwise nothing is shown.
  void set_modules(const std::vector<std::string>& rows);
  bool is_empty() const { return rows_.empty(); }
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void fit();
  int side_in_modules() const;

  std::vector<std::string> rows_;
};

}  // namespace trainyard::ui

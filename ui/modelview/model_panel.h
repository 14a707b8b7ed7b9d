// SPDX-License-Identifier: GPL-3.0-or-later
// Panel that shows the model of the current experiment as a graph: its nodes, their sizes and cost,
// and their assignment to devices. The user can drag layers to other devices; each such move is one
// undo step.
#pragma once

#include <QTimer>
#include <QWidget>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "ui/modelview/model_view.h"

class QToolButton;

namespace trainyard::ui {

class TintedLabel;

class ModelPanel : public QWidget {
  Q_OBJECT
 public:
  explicit ModelPanel(Document& document, QWidget* parent = nullptr);
  ModelView& view() { return *view_; }
  const ModelPicture& picture() const { return view_->picture(); }
  QString totals_text() const;
  // Returns the reason for a refused move, or the problem of the layers' assignment; empty if there
  // is neither.
  QString note_text() const;
  QString details_text() const;

  // Sets whether the user can see the panel. If it is behind another tab, its marks on the canvas
  // are removed.
  void set_seen(bool seen);

  // Moves layers that the user dropped on a device of the drawing. If the picture does not match
  // the document yet, the layers are moved when it does.
  void move_to_device(const QStringList& layers, const std::string& device);

 signals:
  void settled();  // the picture is up to date
  // Reports the devices that have the selected layers. The set is empty while the panel is not
  // visible.
  void pointed(const std::set<std::string>& devices);
  void message(const QString& text);  // reason for a refusal, to be shown in the status bar

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  using Move = std::function<base::Result<std::vector<int>>(const ModelPicture&)>;
  struct Wanted {
    QString what;  // name of the move on the undo stack
    Move move;
  };
  void build_bar();
  void build_foot();
  void document_changed();
  void look();
  void show_picture(int version, const ModelPicture& picture);
  void update_texts();
  void show_note();
  void show_selection();
  void move(const QString& what, const Move& move);
  void do_move(const Wanted& wanted);
  void refuse(const QString& why);

  Document& document_;
  QTimer delay_timer_;
  int version_ = 0;
  bool current_ = false;  // true if the picture matches the document
  bool seen_ = true;      // true if the panel is not behind another tab
  // True while moved layers are stored in the document. The picture already shows the layers at
  // their new positions.
  bool moving_ = false;
  std::optional<Wanted> wanted_;
  QString refused_;
  TintedLabel *totals_ = nullptr, *note_ = nullptr, *details_ = nullptr;
  QToolButton* overview_ = nullptr;
  ModelView* view_ = nullptr;
};

}  // namespace trainyard::ui
